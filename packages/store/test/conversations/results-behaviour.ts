// Large tool results are kept with the conversation, on any database.
import { PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resultText, silent } from '../../../pocket-agent/test/helpers.ts';
import { type Conversations, openConversations } from '../../src/index.ts';

const log = `${'é'.repeat(150_000)} the needle ${'b'.repeat(300_000)}`;
const dump = tool({ name: 'dump', description: 'Dumps all', capability: 'read', run: () => log });
/** The model reads what the conversation has. */
const partly = 'The whole result is no longer kept';
const callDump = { toolCalls: [{ name: 'dump' }] };

/** `newDatabase` returns the path or URL of an empty database. */
export function testSavedResults(newDatabase: () => Promise<string>): void {
  let location: string;
  let chats: Conversations;

  beforeEach(async () => {
    location = await newDatabase();
    chats = await openConversations(location);
  });

  afterEach(async () => {
    await chats.close();
  });

  /** Keeps the result of one call in the conversation, and returns its id. */
  const dumped = async (id = 'x', options: Options = {}) => {
    const chat = await chats.open(id, agentOf([callDump, 'Dumped.'], options).agent);
    await chat.run('Dump it.');
    await chat.close();
    return /result-[0-9a-f]{20}/.exec(lastResult(chat))?.[0] ?? 'none';
  };

  /** What the model reads in the conversation, by an agent that has not seen it before. */
  const readAgain = async (result: string, { id = 'x', of = chats, ...args }: Reading = {}) => {
    const read = { toolCalls: [{ name: 'read_result', arguments: { id: result, ...args } }] };
    const { agent } = agentOf([read, 'Read.']);
    const chat = await of.open(id, agent);
    await chat.run('Read it.');
    return lastResult(chat);
  };

  test('a result can be read again after a restart', async () => {
    const result = await dumped();
    await chats.close();
    chats = await openConversations(location);
    expect(await readAgain(result, { search: 'NEEDLE' })).toMatch(/^at 300005: /);
    expect(await readAgain(result, { from: 300_000, bytes: 12 })).toBe(
      '[Bytes 300000 to 300012 of 600012; continue at 300012]\n the needle ',
    );
  });

  test('a conversation that is saved later keeps the results that it had in memory', async () => {
    const { agent } = agentOf([callDump, 'Dumped.', 'Saved.', callDump, 'Again.']);
    await agent.run('Dump it.');
    const [result = ''] = /result-[0-9a-f]{20}/.exec(lastResult(agent)) ?? [];
    await chats.attach('x', agent);
    await agent.run('Save it.');
    await agent.run('Dump it again.');
    await agent.close();
    expect(await readAgain(result, { search: 'needle' })).toContain('at 300005');
  });

  test('results are deleted with their conversation, and when it is reset or a turn is removed', async () => {
    const gone = 'is not available';
    const deleted = await dumped();
    await chats.delete('x');
    await dumped();
    expect(await readAgain(deleted)).toContain(gone);

    const reset = await dumped('reset');
    const chat = await chats.open('reset', agentOf(['new']).agent);
    chat.resetMessages();
    await chat.run('Something else.');
    await dumped('reset');
    expect(await readAgain(reset, { id: 'reset' })).toContain(gone);

    const edited = await dumped('edited');
    await chats.turns.append('edited', { turn: 'one', messages: [{ role: 'user', content: [] }] });
    await chats.turns.remove('edited', ['one']);
    expect(await readAgain(edited, { id: 'edited' })).toContain(partly);
  });

  test('results go with a conversation that gets another id', async () => {
    const result = await dumped();
    await chats.changeId('x', 'y');
    expect(await readAgain(result, { id: 'y', search: 'needle' })).toContain('at 300005');
  });

  test('another conversation cannot read them, not even with the id', async () => {
    const result = await dumped();
    expect(await readAgain(result, { id: 'other' })).toContain('There is no tool "read_result"');
    await dumped('other');
    expect(await readAgain(result, { id: 'other' })).toContain('is not available');
    const ann = chats.forOwner('ann');
    expect(await readAgain(result, { of: ann })).toContain('There is no tool "read_result"');
  });

  test('when the result is gone, the model reads what the conversation has of it', async () => {
    const result = await dumped('x', { keepResults: { expiresAfterMs: 1e-9 } });
    const text = await readAgain(result, { search: 'bytes left out' });
    expect(text).toMatch(
      /^\[The whole result is no longer kept.*\]\nat \d+: é+ \[\.\.\. \d+ of 600012 bytes left out/s,
    );
  });

  test('the oldest results of a conversation make room, those of others stay', async () => {
    const other = await dumped('other');
    const keepResults = { maxTotalBytes: 2_500_000 };
    const ids: string[] = [];
    for (let turn = 0; turn < 5; turn++) ids.push(await dumped('x', { keepResults }));
    const [oldest = '', second = ''] = ids;
    expect(await readAgain(oldest)).toContain(partly);
    expect(await readAgain(second, { search: 'needle' })).toContain('at 300005');
    expect(await readAgain(other, { id: 'other', search: 'needle' })).toContain('at 300005');
  });

  test('a result that a hook changed is not kept', async () => {
    const hooks: PocketAgentOptions['hooks'] = {
      postToolCall: (_context, call, result) =>
        call.name === 'dump' ? { ...result, toolResultContent: [{ type: 'text', text: noteIn(result) }] } : undefined,
    };
    const { agent } = agentOf([callDump, 'Dumped.'], { hooks });
    const chat = await chats.open('x', agent);
    await chat.run('Dump it.');
    const [id = ''] = /result-[0-9a-f]{20}/.exec(resultText(chat, 0)) ?? [];
    expect(id).not.toBe('');
    expect(await readAgain(id, { search: 'needle' })).toMatch(
      /^\[The whole result is no longer kept.*\]\n\[Not found/s,
    );
  });
}

type Options = Partial<PocketAgentOptions>;

interface Reading {
  id?: string;
  of?: Conversations;
  search?: string;
  from?: number;
  bytes?: number;
}

function lastResult(chat: PocketAgent): string {
  return resultText(chat, chat.messages.filter(({ role }) => role === 'tool').length - 1);
}

function noteIn({ toolResultContent }: { toolResultContent: readonly object[] }): string {
  const last = toolResultContent.at(-1);
  return last && 'text' in last ? String(last.text) : '';
}

function agentOf(script: ConstructorParameters<typeof ScriptedModel>[0], options: Options = {}) {
  const model = new ScriptedModel(script);
  const tools = [dump];
  const agent = new PocketAgent({ llmModel: model, tools, maxToolResultBytes: 10_000, logger: silent, ...options });
  return { agent, model };
}
