// Several processes with one conversation, on any database.
import { type Message, PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import { type Conversations, openConversations } from '../../src/index.ts';
import { expectWholeRuns, startWriter } from './processes.ts';

/** `newDatabase` returns the path or URL of an empty database. */
export function testProcesses(newDatabase: () => Promise<string>): void {
  let location: string;
  let chats: Conversations;

  beforeEach(async () => {
    location = await newDatabase();
    chats = await openConversations(location);
  });

  afterEach(() => chats.close());

  const run = async (text: string) => {
    const agent = new PocketAgent({ llmModel: new ScriptedModel(['ok']), logger: silent });
    await (await chats.open('x', agent)).run(text);
  };

  test('two processes that write to one conversation neither interleave nor lose a run', async () => {
    const writers = ['ann', 'bob'].map((name) => startWriter({ location, id: 'x', name, runs: 8 }));
    await Promise.all(writers.map(({ ended }) => ended));
    const questions = await expectWholeRuns(chats, 'x');
    expect(questions.toSorted()).toEqual(
      ['ann', 'bob'].flatMap((name) => Array.from({ length: 8 }, (_, run) => `${name} question ${run}`)),
    );
    expect((await chats.get('x'))?.messages).toBe(16 * 5);
  });

  test('processes killed at any moment leave a valid history, which the next one continues', async () => {
    const ended: string[] = [];
    for (let round = 0; round < 3; round++) {
      const writer = startWriter({ location, id: 'x', name: `p${round}`, runs: 5_000, leaseMs: 200 });
      await writer.printed('ended 0');
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
      writer.child.kill('SIGKILL');
      await writer.ended;
      const runs = writer.lines.filter((line) => line.startsWith('ended'));
      ended.push(...runs.map((line) => `p${round} question ${line.split(' ')[1]}`));
      const questions = await expectWholeRuns(chats, 'x');
      for (const question of ended) expect(questions).toContain(question);
    }
    await run('still here');
  });

  test('a process that did not renew its lease cannot write over the one that took the conversation', async () => {
    const writer = startWriter({ location, id: 'x', name: 'late', runs: 2, leaseMs: 100, blocks: true });
    await writer.printed('blocked');
    await run('taken');
    writer.child.stdin?.write('.');
    await writer.ended;
    expect(writer.lines).toEqual(['ready', 'blocked', 'failed CONVERSATION_LOST', 'ended 0', 'ended 1']);
    const saved = (await chats.export<Message>('x'))?.messages ?? [];
    const texts = saved.flatMap(({ content }) => content.flatMap((part) => (part.type === 'text' ? [part.text] : [])));
    expect(texts).toEqual(['late question 0', 'taken', 'ok', 'late question 1', 'late answer 0']);
  });
}
