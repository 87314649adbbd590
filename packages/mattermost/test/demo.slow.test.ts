// npm run mattermost:demo: its scene, and the transcripts and the picture of it in the documentation.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { drawChannel } from '../demo/picture.ts';
import { playScene } from '../demo/scene.ts';

const read = (file: string) => readFileSync(new URL(`../../../docs/${file}`, import.meta.url), 'utf8');

test('the documentation shows what the demo prints and draws', async () => {
  const lines: string[] = [];
  const { channel } = await playScene({ isFast: true, print: (line) => lines.push(line) });
  const output = lines.join('\n');
  for (const page of ['mattermost.md', 'mattermost-bot.md']) {
    const transcripts = [...read(page).matchAll(/^```text\n(.*?)^```$/gms)].map(([, text = '']) => text);
    expect(transcripts, page).toHaveLength(1);
    expect(output).toContain(transcripts[0]?.trimEnd());
  }
  // npm run mattermost:demo -- --picture docs/mattermost-bot.svg
  expect(drawChannel(channel)).toBe(read('mattermost-bot.svg'));
});
