// The command `pocket-agent callers`: shows and erases what served agents saved about their callers.
import { PocketError, printable } from '@pocket-agent/kit';
import type { Conversations, ExportedConversation } from '@pocket-agent/store';
import { callerOfToken, type Message } from 'pocket-agent';
import { memoryLines, messageLines } from '../chat/session-lines.ts';
import { actionNamed, readArguments } from '../command-line/arguments.ts';
import { program } from '../command-line/help.ts';
import { openWrittenConversations } from '../files/served-conversations.ts';
import { columns } from '../terminal/text-width.ts';
import { plural } from '../terminal/usage-line.ts';

const PER_PAGE = 1_000;

interface Action {
  /** The arguments in error messages. */
  takes: string;
  least: number;
  most: number;
  run(chats: Conversations, names: readonly string[]): Promise<string>;
}

const actions: Readonly<Record<string, Action>> = {
  list: { takes: '', least: 0, most: 0, run: list },
  show: { takes: ' CALLER [CONVERSATION]', least: 1, most: 2, run: show },
  export: { takes: ' CALLER', least: 1, most: 1, run: exportCaller },
  erase: { takes: ' CALLER...', least: 1, most: Number.POSITIVE_INFINITY, run: erase },
};

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    conversations: { type: 'string' },
    scope: { type: 'string' },
    token: { type: 'string' },
  });
  const [name = 'list', ...given] = positionals;
  const action = actionNamed('callers', name, actions);
  const names = values.token === undefined ? given : [callerOfToken(values.token), ...given];
  if (names.length < action.least || names.length > action.most) {
    const usage = `Usage: ${program} callers ${name}${action.takes} --conversations DATABASE`;
    throw new PocketError('CONFIG_INVALID', usage);
  }
  const location = values.conversations ?? process.env.POCKET_AGENT_CONVERSATIONS;
  if (!location) {
    const text = 'Name the database: --conversations FILE, a postgres:// URL, or POCKET_AGENT_CONVERSATIONS.';
    throw new PocketError('CONFIG_INVALID', text);
  }
  const chats = await openWrittenConversations(location, values.scope);
  try {
    process.stdout.write(await action.run(chats, names));
    return 0;
  } finally {
    await chats.close();
  }
}

async function list(chats: Conversations): Promise<string> {
  const rows: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await chats.owners({ limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const { owner, conversations, memories, updatedAt } of page.owners) {
      const counts = [plural(conversations, 'conversation'), memoryCount(memories)];
      rows.push([owner === '' ? '""' : printable(owner), ...counts, dateText(updatedAt)]);
    }
    cursor = page.next;
  } while (cursor !== undefined);
  if (rows.length === 0) process.stderr.write('Nothing is saved.\n');
  return asText(columns(rows));
}

async function show(chats: Conversations, [caller = '', id]: readonly string[]): Promise<string> {
  const own = chats.forOwner(caller);
  if (id !== undefined) {
    const found = await own.export<Message>(id);
    if (found) return asText(found.messages.flatMap(messageLines));
    throw new PocketError('CONFIG_INVALID', `${caller} has no conversation "${id}": ${program} callers show ${caller}`);
  }
  const rows: string[][] = [];
  for await (const { id, messages, updatedAt, title } of conversationsOf(own))
    rows.push([printable(id), plural(messages, 'message'), dateText(updatedAt), printable(title, 60)]);
  const memories = await own.memory.list();
  if (rows.length + memories.length === 0) process.stderr.write(`Nothing is saved about ${caller}.\n`);
  const separator = rows.length > 0 && memories.length > 0 ? [''] : [];
  return asText([...columns(rows), ...separator, ...memoryLines(memories)]);
}

async function exportCaller(chats: Conversations, [caller = '']: readonly string[]): Promise<string> {
  const own = chats.forOwner(caller);
  const conversations: ExportedConversation[] = [];
  for await (const { id } of conversationsOf(own)) {
    const found = await own.export(id);
    if (found) conversations.push(found);
  }
  return `${JSON.stringify({ caller, conversations, memories: await own.memory.list() }, null, 2)}\n`;
}

async function erase(chats: Conversations, callers: readonly string[]): Promise<string> {
  for (const caller of callers) {
    const { conversations, memories } = await chats.eraseOwner(caller);
    const counts = `${plural(conversations, 'conversation')} and ${memoryCount(memories)}`;
    process.stderr.write(`${printable(caller)}: erased ${counts}.\n`);
  }
  return '';
}

function memoryCount(count: number): string {
  return count === 1 ? '1 memory' : `${count} memories`;
}

async function* conversationsOf(own: Conversations) {
  let cursor: string | undefined;
  do {
    const page = await own.list({ limit: PER_PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.conversations;
    cursor = page.next;
  } while (cursor !== undefined);
}

function dateText(date: Date): string {
  return date.toISOString().slice(0, 16).replace('T', ' ');
}

function asText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
