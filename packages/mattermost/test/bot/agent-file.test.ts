// The agent file of the bot takes what that of the command pocket-agent takes.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readAgentOptions } from '../../src/bot/agent-file.ts';

const ofCommand = new URL('../../../cli/src/setup/agent-file.ts', import.meta.url);

test('every option of the agent file of the command is one of the bot', async () => {
  const [, options = ''] = /interface FileContent [^{]*\{(.*?)\n\}/s.exec(await readFile(ofCommand, 'utf8')) ?? [];
  const names = [...options.matchAll(/^ {2}(\w+)\?:/gm)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(8);
  const folder = await mkdtemp(join(tmpdir(), 'bot-agent-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'agent.json');
  const content = { exposure: 'deferred', traceContent: true, memory: false, limits: { maxSteps: 3 } };
  await writeFile(file, JSON.stringify({ llmModel: 'demo', ...content }));
  expect(await readAgentOptions({ file, model: undefined, defaultCapability: undefined })).toMatchObject(content);
  await writeFile(file, JSON.stringify({ llmModel: 'demo', unknown: 1 }));
  const { message } = (await readAgentOptions({ file, model: undefined, defaultCapability: undefined }).catch(
    (error: Error) => error as Error,
  )) as Error;
  for (const name of names.filter((each) => each !== '$schema')) expect(message).toContain(name);
});
