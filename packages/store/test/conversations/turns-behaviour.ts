// Turns of conversations, and conversations beside the tables of a program, on any database.
import { type Message, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import {
  type Conversations,
  conversationsIn,
  conversationTables,
  openConversations,
  openStore,
  type Store,
} from '../../src/index.ts';
import { type NotesSchema, notesMigrations } from '../notes.ts';

/** `newDatabase` returns the path or URL of an empty database. */
export function testTurns(newDatabase: () => Promise<string>): void {
  let place: { file: string } | { url: string };
  let store: Store<NotesSchema>;
  let chats: Conversations;

  beforeEach(async () => {
    const location = await newDatabase();
    place = location.startsWith('postgres') ? { url: location } : { file: location };
    const migrations = notesMigrations();
    store = await openStore<NotesSchema>({ ...place, name: 'notes', migrations, needs: [conversationTables] });
    chats = conversationsIn(store);
  });

  afterEach(async () => {
    await store.close();
  });

  const say = (turn: string, ...texts: string[]) => ({ turn, messages: texts.map(message) });
  const texts = async (id = 'x') =>
    (await chats.turns.list<Message>(id)).map(({ turn, messages }) => [turn, ...messages.map(textOf)].join(' '));

  test('turns are appended, replaced in their place and removed', async () => {
    await chats.turns.append('x', say('1', 'a'));
    await chats.turns.append('x', say('1', 'b'));
    await chats.turns.append('x', say('2', 'c', 'd'));
    await chats.turns.append('x', say('3', 'e'));
    await chats.turns.append('x', say('4'));
    expect(await texts()).toEqual(['1 a b', '2 c d', '3 e']);
    await chats.turns.replace('x', say('2', 'C', 'D', 'E'));
    await chats.turns.replace('x', say('3', 'F'));
    await chats.turns.replace('x', say('5', 'g'));
    expect(await texts()).toEqual(['1 a b', '2 C D E', '3 F', '5 g']);
    await chats.turns.remove('x', ['1', '3', 'unknown']);
    expect(await texts()).toEqual(['2 C D E', '5 g']);
    expect((await chats.get('x'))?.messages).toBe(4);
    expect((await chats.search('f')).conversations).toEqual([]);
    await chats.turns.replace('x', say('2'));
    await chats.turns.remove('x', ['5']);
    expect([await texts(), await chats.get('x'), await texts('never begun')]).toEqual([[], undefined, []]);
  });

  test('any order of changes leaves what it should', async () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    let expected: { turn: string; messages: string[] }[] = [];
    for (let step = 0; step < 60; step++) {
      const turn = expected[random(expected.length)]?.turn ?? 'first';
      const said = Array.from({ length: random(4) }, (_, index) => `${step}/${index}`);
      const index = expected.findIndex((each) => each.turn === turn);
      if (random(3) > 0) {
        await chats.turns.append('x', say(`t${step}`, ...said));
        expected.push({ turn: `t${step}`, messages: said });
      } else if (random(2) > 0 && index >= 0) {
        await chats.turns.replace('x', say(turn, ...said));
        expected[index] = { turn, messages: said };
      } else {
        await chats.turns.remove('x', [turn]);
        expected = expected.filter((each) => each.turn !== turn);
      }
      expected = expected.filter(({ messages }) => messages.length > 0);
      expect(await texts()).toEqual(expected.map(({ turn, messages }) => [turn, ...messages].join(' ')));
    }
    const { agent } = agentOf(['done']);
    const chat = await chats.open('x', agent);
    await chat.run('and now?');
    const all = expected.flatMap(({ messages }) => messages);
    expect(chat.messages.map(textOf)).toEqual([...all, 'and now?', 'done']);
    expect((await texts()).at(-1)).toBe(' and now? done');
  });

  test('an agent forgets turns that were removed since it read them', async () => {
    await chats.turns.append('x', say('1', 'first'));
    await chats.turns.append('x', say('2', 'second'));
    const { agent, model } = agentOf(['ok']);
    const chat = await chats.open('x', agent);
    await chats.turns.remove('x', ['1']);
    await chat.run('go on');
    expect(JSON.stringify(model.calls[0]?.prompt)).not.toContain('first');
    expect(chat.messages.map(textOf)).toEqual(['second', 'go on', 'ok']);
  });

  test('a title that comes from the first question changes with it, another one does not', async () => {
    const title = async () => (await chats.get('x'))?.title;
    await chats.turns.append('x', say('1', 'a secret'));
    await chats.turns.append('x', say('2', 'the weather'));
    expect(await title()).toBe('a secret');
    await chats.turns.remove('x', ['1']);
    expect(await title()).toBe('the weather');
    await chats.rename('x', 'Holidays');
    await chats.turns.replace('x', say('2', 'the sea'));
    expect(await title()).toBe('Holidays');
  });

  test('turns cannot be changed while a run holds the conversation', async () => {
    const change = tool({
      name: 'change',
      description: 'Changes',
      run: () => chats.turns.append('x', say('1', 'in between')).catch((error) => `${error.code}: ${error.message}`),
    });
    const { agent } = agentOf([{ toolCalls: [{ name: 'change' }] }, 'ok'], { tools: [change] });
    const chat = await chats.open('x', agent);
    await chat.run('go');
    expect(JSON.stringify(chat.messages)).toContain('CONVERSATION_BUSY: The conversation \\"x\\" is in use by a run');
    await chats.turns.append('x', say('1', 'later'));
    expect(await texts()).toEqual([' go   ok', '1 later']); // the call and its result have no text
    await expect(chats.turns.append('x', say('', 'no label'))).rejects.toThrow('The label of a turn must be');
  });

  test('conversations and tables of a program change together or not at all', async () => {
    const change = (fails: boolean) =>
      store.db.transaction().execute(async (db) => {
        await db.insertInto('notes').values({ text: 'noted' }).execute();
        await conversationsIn({ db, kind: store.kind }).turns.append('x', say('1', 'said'));
        await conversationsIn({ db, kind: store.kind }).changeId('x', 'y');
        if (fails) throw new Error('no');
      });
    await expect(change(true)).rejects.toThrow('no');
    const state = async () => [await store.db.selectFrom('notes').select('text').execute(), await texts('y')];
    expect(await state()).toEqual([[], []]);
    await change(false);
    expect(await state()).toEqual([[{ text: 'noted' }], ['1 said']]);
    await using others = await openConversations(place);
    expect(await others.get('y')).toMatchObject({ title: 'said', messages: 1 });
    expect(() => conversationsIn(store, Object({ scop: 'x' }))).toThrow('Did you mean "scope"?');
  });

  test('exported conversations keep their turns', async () => {
    await chats.turns.append('x', say('1', 'a', 'b'));
    await chats.turns.append('x', say('2', 'c'));
    const exported = await chats.export('x');
    expect(exported?.turns).toEqual(['1', '1', '2']);
    await chats.delete('x');
    if (exported) await chats.import(JSON.parse(JSON.stringify(exported)));
    expect(await texts()).toEqual(['1 a b', '2 c']);
    expect(await chats.export('x')).toEqual(exported);
  });

  test('a database of the version before gets turns when it is opened', async () => {
    const { name, migrations } = conversationTables;
    const location = await newDatabase();
    place = location.startsWith('postgres') ? { url: location } : { file: location };
    const old = await openStore<OldSchema>({ ...place, name, migrations: migrations.slice(0, 2) });
    const row = { key: KEY_OF_X, scope: '', owner: '', id: 'x', title: 'old', created_at: 1, updated_at: 2 };
    await old.db
      .insertInto('pocket_conversations')
      .values({ ...row, length: 1, generation: 'g', lease_until: 0 })
      .execute();
    const json = JSON.stringify(message('kept'));
    await old.db
      .insertInto('pocket_messages')
      .values({ conversation: KEY_OF_X, number: 0, role: 'user', json, search_text: 'kept' })
      .execute();
    await old.close();
    await using updated = await openConversations(place);
    await updated.turns.append('x', say('1', 'new'));
    expect(await updated.turns.list('x')).toMatchObject([{ turn: '' }, { turn: '1' }]);
    expect((await updated.export<Message>('x'))?.messages.map(textOf)).toEqual(['kept', 'new']);
    const older = openStore({ ...place, name, migrations: migrations.slice(0, 2) });
    await expect(older).rejects.toMatchObject({ code: 'NEWER_DATABASE' });
  });
}

/** The key of the conversation x without scope and owner. */
const KEY_OF_X = '62488f55870a82b57daaa165630fd3c8007ac8b95f3dae98809642bf22de37e4';

interface OldSchema {
  pocket_conversations: Record<string, string | number>;
  pocket_messages: Record<string, string | number>;
}

function message(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function textOf({ content }: Message): string {
  const [part] = content;
  return part?.type === 'text' ? part.text : '';
}

function agentOf(
  script: ConstructorParameters<typeof ScriptedModel>[0],
  options: Partial<ConstructorParameters<typeof PocketAgent>[0]> = {},
) {
  const model = new ScriptedModel(script);
  return { agent: new PocketAgent({ llmModel: model, logger: silent, ...options }), model };
}
