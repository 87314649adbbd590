// Runs of one conversation, and limits per caller, on any database.
import { tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import type { Runs, RunsOptions } from '../src/index.ts';
import { agentOf, eventsOf, refunds } from './agents.ts';
import { waits } from './waiting.ts';

type Open = (url: string, options?: Partial<RunsOptions>) => Promise<Runs>;

/** Answers with the number of messages that it sees. */
const counting = () =>
  agentOf([], {
    llmModel: new ScriptedModel(
      Array.from(
        { length: 20 },
        () =>
          ({ prompt }) =>
            `${prompt.length} messages`,
      ),
    ),
  });

export function testConversations(open: Open, newUrl: () => Promise<string>): void {
  test('an answer that a program has to deliver is listed until the program says that it was', async () => {
    const url = await newUrl();
    const first = await open(url, { agents: { a: counting } });
    await first.start('a', 'kept', { id: 'bot/1', deliver: true });
    await first.start('a', 'not kept', { id: 'bot/2' });
    await first.result('bot/1');
    await first.result('bot/2');
    await first.close();
    const second = await open(url);
    const undelivered = async (prefix: string) => (await second.list({ prefix, undelivered: true })).runs;
    expect(await undelivered('bot/')).toMatchObject([{ id: 'bot/1', status: 'finished', undelivered: true }]);
    expect(await undelivered('other/')).toEqual([]);
    await second.delivered('bot/1');
    await second.delivered('bot/1');
    expect(await undelivered('bot/')).toEqual([]);
    expect(await second.get('bot/1')).not.toHaveProperty('undelivered');
    await expect(second.delivered('bot/3')).rejects.toMatchObject({ code: 'RUN_UNKNOWN' });
  });

  test('runs of a conversation take turns, and each begins with the messages of those before it', async () => {
    const url = await newUrl();
    const first = await open(url, { agents: { a: counting } });
    const about = { thread: 7 };
    for (const id of ['c1', 'c2']) await first.start('a', id, { id, conversation: 'c', about });
    await first.start('a', 'other', { id: 'other', conversation: 'd' });
    expect(await first.result('c1')).toBe('1 messages');
    expect(await first.result('c2')).toBe('3 messages');
    expect(await first.result('other')).toBe('1 messages');
    await first.close();
    const second = await open(url, { agents: { a: counting } });
    await second.start('a', 'c3', { id: 'c3', conversation: 'c' });
    expect(await second.result('c3')).toBe('5 messages');
    expect((await second.list({ conversation: 'c' })).runs.map(({ id }) => id).sort()).toEqual(['c1', 'c2', 'c3']);
    expect((await second.list({ prefix: 'ot' })).runs.map(({ id }) => id)).toEqual(['other']);
    expect(await second.get('c1')).toMatchObject({ conversation: 'c', about });
    expect((await eventsOf(second, 'c3')).filter(({ type }) => type === 'message')).toHaveLength(2);
  });

  test('a run waits while one before it in the conversation waits for a person, and goes on when that ends', async () => {
    const runs = await open(await newUrl(), { agents: { support: () => refunds() } });
    await runs.start('support', 'Refund', { id: 'first', conversation: 'c' });
    await runs.start('support', 'And?', { id: 'second', conversation: 'c' });
    await runs.start('support', 'And then?', { id: 'third', conversation: 'c' });
    await waits(runs, 'first');
    expect(await runs.get('second')).toMatchObject({ status: 'queued', steps: 0 });
    const [question] = await runs.questions({ run: 'first' });
    await runs.answer(question?.id ?? '', 'allow');
    expect(await runs.result('first')).toBe('Order 17 is refunded.');
    // the script of the model has no more answers
    await expect(runs.result('second')).rejects.toMatchObject({ code: 'RUN_FAILED' });
    await expect(runs.result('third')).rejects.toMatchObject({ code: 'RUN_FAILED' });
  });

  test('messages take the place of those of earlier runs, for the runs that follow too', async () => {
    const runs = await open(await newUrl(), { agents: { a: counting } });
    for (const id of ['one', 'two']) await runs.start('a', id, { id, conversation: 'c' });
    expect(await runs.result('two')).toBe('3 messages');
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'from elsewhere' }] }];
    await runs.start('a', 'Three', { id: 'three', conversation: 'c', messages });
    await runs.start('a', 'Four', { id: 'four', conversation: 'c' });
    expect(await runs.result('three')).toBe('2 messages');
    expect(await runs.result('four')).toBe('4 messages');
    await expect(runs.start('a', 'Five', { messages: 'all' as never })).rejects.toThrow('a list of messages');
  });

  test('what a run compacted stays compacted for all later runs of the conversation', async () => {
    const story = 'and then they went on '.repeat(100);
    const script = [story, story, story, 'Notes: a long story.', 'Fine.', 'Short.', 'The end.', 'New.', 'Newer.'];
    const llmModel = new ScriptedModel(script);
    const compaction = { at: 2_000, keep: 900 };
    const runs = await open(await newUrl(), { agents: { a: () => agentOf([], { llmModel, compaction }) } });
    const ask = async (id: string, options = {}) => {
      await runs.start('a', id, { id, conversation: 'c', ...options });
      return runs.result(id);
    };
    for (const id of ['one', 'two', 'three']) expect(await ask(id)).toBe(story);
    expect(await ask('compacts')).toBe('Fine.');
    expect(await ask('compacts nothing')).toBe('Short.');
    expect(await ask('goes on')).toBe('The end.');
    const promptOf = (call: number) => JSON.stringify(llmModel.calls.at(call)?.prompt);
    expect(promptOf(-1)).toContain('Notes: a long story.');
    expect(promptOf(-1).length).toBeLessThan(story.length * 2);
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'from elsewhere' }] }];
    expect(await ask('begins again', { messages })).toBe('New.');
    expect(await ask('follows')).toBe('Newer.');
    expect(promptOf(-1)).toContain('from elsewhere');
    expect(promptOf(-1)).not.toContain('Notes');
  });

  test('a reader that comes in the middle of a step gets its text so far, and what comes', async () => {
    const held = Promise.withResolvers<string>();
    const wait = tool({ name: 'wait', description: 'Waits', run: () => held.promise });
    const script = [{ text: 'One. Two.', toolCalls: [{ name: 'wait' }] }, 'Three. Four.'];
    const runs = await open(await newUrl(), { agents: { a: () => agentOf(script, { tools: [wait] }) } });
    await runs.start('a', 'Count', { id: 'r' });
    const begun = async () => (await runs.get('r'))?.steps;
    await expect.poll(begun).toBe(1);
    const texts: string[] = [];
    for await (const { type } of runs.events('r', {
      onEvent: (event) => {
        if (event.type === 'text_delta') texts.push(event.data.delta);
      },
    }))
      if (type === 'intent') held.resolve('waited');
    expect(texts[0]).toBe('One. Two.');
    expect(texts.slice(1).join('')).toBe('Three. Four.');
    expect(texts.length).toBeGreaterThan(2);
  });

  test('a conversation is deleted as a whole', async () => {
    const url = await newUrl();
    const first = await open(url, { agents: { a: counting } });
    await first.start('a', 'One', { id: 'one', conversation: 'c' });
    await first.result('one');
    await first.close();
    const runs = await open(url);
    await runs.start('a', 'Two', { id: 'two', conversation: 'c' });
    expect(await runs.purge(0)).toBe(0);
    await runs.cancel('two');
    expect(await runs.purge(0)).toBe(2);
  });

  test('a caller has at most as many runs at a time as the limit allows', async () => {
    let [running, most] = [0, 0];
    const gates: (() => void)[] = [];
    const work = tool({
      name: 'work',
      description: 'Works',
      run: async (_args: object, { caller }) => {
        if (caller === 'ann') most = Math.max(most, ++running);
        await new Promise<void>((resolve) => gates.push(resolve));
        if (caller === 'ann') running--;
        return 'worked';
      },
    });
    const agents = { a: () => agentOf([{ toolCalls: [{ name: 'work' }] }, 'Done'], { tools: [work] }) };
    const runs = await open(await newUrl(), { agents, maxParallelRunsPerCaller: 2 });
    for (const id of ['1', '2', '3', '4', '5']) await runs.start('a', 'Go', { id, caller: 'ann' });
    await runs.start('a', 'Go', { id: 'bob', caller: 'bob' });
    await expect.poll(() => gates.length).toBe(3);
    expect(most).toBe(2);
    expect((await runs.list({ status: 'running' })).runs.map(({ caller }) => caller).sort()).toEqual([
      'ann',
      'ann',
      'bob',
    ]);
    const opening = setInterval(() => gates.shift()?.(), 10);
    for (const id of ['1', '2', '3', '4', '5', 'bob']) expect(await runs.result(id)).toBe('Done');
    clearInterval(opening);
    expect(most).toBe(2);
  });

  test.each([undefined, 2])(
    'a process works on as many runs at a time as it may, also after it had none (at most %s per caller)',
    async (maxParallelRunsPerCaller) => {
      const gates: (() => void)[] = [];
      let [running, most] = [0, 0];
      const work = tool({
        name: 'work',
        description: 'Works',
        run: async () => {
          most = Math.max(most, ++running);
          await new Promise<void>((resolve) => gates.push(resolve));
          running--;
          return 'worked';
        },
      });
      const agents = { a: () => agentOf([{ toolCalls: [{ name: 'work' }] }, 'Done'], { tools: [work] }) };
      const runs = await open(await newUrl(), { agents, maxParallelRuns: 3, maxParallelRunsPerCaller });
      for (const round of [1, 2, 3]) {
        const ids = Array.from({ length: 5 }, (_, index) => `${round}-${index}`);
        for (const id of ids) await runs.start('a', 'Go', { id, caller: id });
        await expect.poll(() => running).toBe(3);
        const opening = setInterval(() => gates.shift()?.(), 10);
        for (const id of ids) expect(await runs.result(id)).toBe('Done');
        clearInterval(opening);
      }
      expect(most).toBe(3);
    },
  );
}
