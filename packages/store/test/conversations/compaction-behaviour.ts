// What was compacted of a conversation is saved with it, on any database.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { type Message, PocketAgent } from 'pocket-agent';
import { recordEvents, ScriptedModel } from 'pocket-agent/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import { type Conversations, openConversations } from '../../src/index.ts';

const story = 'and then they went on '.repeat(100);

/** `newDatabase` returns the path or URL of an empty database. */
export function testSavedCompaction(newDatabase: () => Promise<string>): void {
  let chats: Conversations;

  beforeEach(async () => {
    chats = await openConversations(await newDatabase());
  });

  afterEach(async () => {
    await chats.close();
  });

  /** Three long answers, which the fourth question makes the agent summarise. */
  const summarised = async (id = 'x') => {
    const { agent, model } = storyteller([story, story, story, 'Notes: a long story.', 'It goes on.']);
    const chat = await chats.open(id, agent);
    for (const question of ['Begin.', 'Go on.', 'Go on.', 'Finish it.']) await chat.run(question);
    expect(model.calls).toHaveLength(5);
    expect(chat.compacted?.summary).toBe('Notes: a long story.');
    return chat;
  };

  test('a long conversation is not summarised again when it is opened again', async () => {
    const first = await summarised();
    const { agent, model, events } = storyteller(['They lived happily.']);
    const second = await chats.open('x', agent);
    expect(second.compacted).toEqual(first.compacted);
    expect(await second.run('The end?')).toBe('They lived happily.');
    expect(promptOf(model.calls[0])).toContain('Notes: a long story.');
    expect(promptOf(model.calls[0]).length).toBeLessThan(story.length * 2);
    expect(events.types()).not.toContain('compacted');
    expect(second.messages).toHaveLength(10);
    expect(second.messages.slice(0, 8)).toEqual(first.messages);
  });

  test('an agent without compaction continues with the summary', async () => {
    await summarised();
    const model = new ScriptedModel(['ok']);
    await (await chats.open('x', new PocketAgent({ llmModel: model, logger: silent }))).run('More?');
    expect(promptOf(model.calls[0])).toContain('Notes: a long story.');
  });

  test('an agent that has the conversation open uses what another one compacted since', async () => {
    const { agent, model, events } = storyteller(['It was long.']);
    const early = await chats.open('x', agent);
    const other = await summarised();
    await early.run('How was it?');
    expect(promptOf(model.calls[0])).toContain('Notes: a long story.');
    expect(events.types()).not.toContain('compacted');
    expect(early.compacted).toEqual(other.compacted);
  });

  test('compact() is saved without a message', async () => {
    const model = new ScriptedModel([story, story, 'Notes: it was long.']);
    const chat = await chats.open('x', new PocketAgent({ llmModel: model, logger: silent }));
    await chat.run('Begin.');
    await chat.run('Go on.');
    expect(await chat.compact()).toBeDefined();
    expect((await chats.open('x', storyteller([]).agent)).compacted).toEqual(chat.compacted);
    expect((await chats.get('x'))?.messages).toBe(4);
  });

  test('what was compacted goes with the messages: by reset, removal, export, import and a new id', async () => {
    const { compacted } = await summarised();
    const exported = await chats.export<Message>('x');
    expect(exported?.compacted).toEqual(compacted);
    if (exported) await chats.import(JSON.parse(JSON.stringify({ ...exported, id: 'copy' })));
    await chats.changeId('copy', 'renamed');
    expect((await chats.open('renamed', storyteller([]).agent)).compacted).toEqual(compacted);
    const { agent } = storyteller(['new']);
    const reset = await chats.open('x', agent);
    reset.resetMessages();
    await reset.run('Something else.');
    expect((await chats.export('x'))?.compacted).toBeUndefined();
    expect((await chats.open('x', storyteller([]).agent)).compacted).toBeUndefined();
    await chats.turns.remove('renamed', ['']);
    expect(await chats.get('renamed')).toBeUndefined();
  });

  test('a view that does not belong to the messages is ignored with a warning', async () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }];
    const time = new Date().toISOString();
    const compacted = { from: 7, summary: 'of another conversation', resultsFrom: 7 };
    await chats.import({ id: 'x', title: '', createdAt: time, updatedAt: time, messages, compacted });
    const warnings: string[] = [];
    const logger = { ...silent, warn: (text: string) => void warnings.push(text) };
    const model = new ScriptedModel(['ok']);
    const chat = await chats.open('x', new PocketAgent({ llmModel: model, logger }));
    await chat.run('Go on.');
    expect(promptOf(model.calls[0])).not.toContain('of another conversation');
    expect(warnings[0]).toContain('does not belong to these messages');
  });
}

function storyteller(script: ConstructorParameters<typeof ScriptedModel>[0]) {
  const [model, events] = [new ScriptedModel(script), recordEvents()];
  const compaction = { at: 2_000, keep: 900 };
  return { agent: new PocketAgent({ llmModel: model, logger: silent, compaction, hooks: events }), model, events };
}

function promptOf(call: LanguageModelV4CallOptions | undefined): string {
  return JSON.stringify(call?.prompt);
}
