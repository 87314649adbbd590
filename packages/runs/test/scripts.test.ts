// Scripts of code mode that go on in another process.
import { codeMode } from '@pocket-agent/code-mode';
import { tool } from 'pocket-agent';
import { expect, test } from 'vitest';
import { openRuns, type Runs } from '../src/index.ts';
import { agentOf, eventsOf, newFile, silent } from './agents.ts';
import { firstQuestion, waits } from './waiting.ts';

const made: unknown[] = [];
const act = tool({
  name: 'act',
  description: 'Acts',
  run: (args: object) => {
    made.push(args);
    return 'acted';
  },
});
const ask = tool({ name: 'ask', description: 'Asks', run: () => 'asked' });

async function open(file: string, code: string): Promise<Runs> {
  const agent = () =>
    agentOf([{ toolCalls: [{ name: 'run_code', arguments: { code } }] }, 'Done'], {
      tools: [act, ask, look, codeMode({ timeoutMs: 120_000, maxCpuMs: 60_000 })],
      access: { confirm: ({ name }) => name === 'ask' },
    });
  return openRuns({ url: `sqlite:${file}`, agents: { a: agent }, logger: silent });
}

/** Another result in each process. */
let looks = 0;
const look = tool({
  name: 'look',
  description: 'Looks',
  annotations: { readOnlyHint: true },
  run: () => ({ n: ++looks }),
});

test('a script that asks waits in the database, and its earlier calls have the same results when it goes on', async () => {
  const code = `
    const { n } = await tools.look();
    await Promise.all([1, 2].map((each) => tools.act({ each, n, now: Date.now(), random: Math.random() })));
    try { await tools.ask({}); } catch { return 'never' }
    return n;`;
  const file = newFile();
  const first = await open(file, code);
  await first.start('a', 'Go', { id: 'r' });
  await waits(first, 'r');
  expect(made.splice(0)).toHaveLength(2);
  await first.close();
  const second = await open(file, code);
  await second.answer((await firstQuestion(second)).id, 'allow');
  expect(await second.result('r')).toBe('Done');
  expect([made, looks]).toEqual([[], 1]);
  const results = (await eventsOf(second, 'r')).filter(({ type }) => type === 'message');
  expect(JSON.stringify(results[2]?.data)).toContain('"value":"1"');
  expect(await second.get('r')).toMatchObject({ totals: { usage: { modelCalls: 2, toolCalls: 5 } } });
  await second.close();
});

test('a script that does something else the second time tells the model what it had done', async () => {
  const file = newFile();
  // a function of a tool that was renamed since
  const first = await open(file, `await tools.act({ n: 7 }); await tools.ask({}); return 'first'`);
  await first.start('a', 'Go', { id: 'r' });
  await waits(first, 'r');
  await first.close();
  made.splice(0);
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(file);
  database.exec(`update pocket_run_journal set json = replace(json, '"n":7', '"n":8') where type = 'inner'`);
  database.close();
  const second = await open(file, '');
  await second.answer((await firstQuestion(second)).id, 'allow');
  expect(await second.result('r')).toBe('Done');
  expect(made).toEqual([{ n: 7 }]);
  const text = JSON.stringify(await eventsOf(second, 'r')).replaceAll('\\', '');
  expect(text).toContain('and may have taken effect: act({"n":8})');
  await second.close();
});

test('identical calls of a script have a question each, also side by side', async () => {
  const code = 'await Promise.all([tools.act({}), tools.ask({}), tools.ask({})]); return 1';
  const runs = await open(newFile(), code);
  await runs.start('a', 'Go', { id: 'r' });
  for (const answer of ['allow', 'deny'] as const) {
    await waits(runs, 'r');
    const [question] = await runs.questions();
    await runs.answer(question?.id ?? '', answer);
  }
  expect(await runs.result('r')).toBe('Done');
  const events = await eventsOf(runs, 'r');
  expect(events.filter(({ type }) => type === 'question')).toHaveLength(2);
  expect(events.flatMap(({ type, data }) => (type === 'answer' ? [data.answer] : []))).toEqual(['allow', 'deny']);
  await runs.close();
});
