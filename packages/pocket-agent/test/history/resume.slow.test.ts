// kill -9 after kill -9: agent.resume() goes on, and a call that may have taken effect is not repeated.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Message, PocketAgent } from 'pocket-agent';
import { expect, test } from 'vitest';
import type { ResumedOptions } from '../fixtures/programs/resumed.ts';
import { expectValidHistory } from '../helpers.ts';

const program = fileURLToPath(new URL('../fixtures/programs/resumed.ts', import.meta.url));

function start(options: ResumedOptions): Promise<{ killed: boolean; output: string }> {
  const args = ['-C', 'pocket-agent/source', program, JSON.stringify(options)];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, (error, output) => {
      if (error && error.signal !== 'SIGKILL') reject(error);
      else resolve({ killed: error !== null, output });
    });
  });
}

/** Starts process after process, each killed at the same one of its writes, until one ends the run. */
async function chain(killAt: number, place: 'before' | 'after') {
  const folder = mkdtempSync(join(tmpdir(), 'resume-'));
  const files = { file: join(folder, 'log'), effects: join(folder, 'effects') };
  for (let processes = 1; processes < 30; processes++) {
    const { killed, output } = await start({ ...files, killAt, place });
    if (killed) continue;
    const effects = readFileSync(files.effects, 'utf8').trim().split('\n');
    return { processes, effects, ...(JSON.parse(output) as { answer: string; messages: Message[] }) };
  }
  throw new Error('The run has no end.');
}

const moments = [
  [1, 'after'],
  [3, 'before'],
  [2, 'before'],
  [2, 'after'],
] as const;

test.each(moments)(
  'a run that is killed again and again, at write %i (%s), ends once and repeats no effect',
  async (killAt, place) => {
    const { processes, effects, answer, messages } = await chain(killAt, place);
    expect(answer).toBe('done');
    expect(processes).toBeGreaterThan(2);
    expectValidHistory(new PocketAgent({ llmModel: 'demo', messages }));
    expect(messages.map(({ role }) => role).join(' ')).toBe('user assistant tool tool tool assistant tool assistant');
    for (const id of ['a', 'b', 'd']) {
      const times = effects.filter((effect) => effect === `pay ${id}`).length;
      const result = textOfResult(messages, id);
      if (result === 'paid') expect(times).toBe(1);
      else expect([times <= 1, result]).toEqual([true, expect.stringContaining('may or may not have taken effect')]);
    }
    expect(textOfResult(messages, 'c')).toBe('seen');
    // an answer that was saved is not paid for again
    if (place === 'after' && killAt === 1)
      expect(effects.filter((effect) => effect.startsWith('model'))).toEqual(['model 0', 'model 1', 'model 2']);
  },
);

function textOfResult(messages: readonly Message[], id: string): unknown {
  const parts = messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
  const part = parts.find((each) => each.type === 'tool-result' && each.toolCallId === id);
  return part?.type === 'tool-result' && 'value' in part.output ? part.output.value : undefined;
}
