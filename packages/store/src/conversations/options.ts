// The options of conversations, and checks of options, ids and titles.
import {
  checkValue,
  configError,
  isRecord,
  isString,
  millisecondsUpTo,
  nullableString,
  type OptionRule,
  OptionSet,
  objectRule,
  PocketError,
  positiveInteger,
  stringRule,
  textOfLength,
} from '@pocket-agent/kit';
import type { ConversationAgent } from './conversation-agent.ts';
import type { ListOptions } from './listing.ts';

/** Where conversations are saved, and for how long. */
export interface ConversationsOptions {
  /** `postgres://…`, which processes on several machines may share. */
  url?: string;
  /** A SQLite file, created if missing. Several processes of one machine may share it. */
  file?: string;
  /** Separates the conversations of several programs in one database. Default: empty. */
  scope?: string;
  /** Conversations that were not continued for this long are deleted. Default: never. */
  expiresAfterMs?: number;
  /** How long a run waits while another one holds its conversation. Default 30,000. */
  waitMs?: number;
  /** After a process died, its conversations are free again after this time. Default 15,000. */
  leaseMs?: number;
}

/** How long to wait for a conversation that another process has open. */
export interface OpenOptions {
  /** Instead of `waitMs` of `openConversations`. */
  waitMs?: number;
}

const MAX_ID_LENGTH = 512;
const MAX_OWNER_LENGTH = 256;
const MAX_SCOPE_LENGTH = 64;
const MAX_TITLE_LENGTH = 200;
const MAX_PAGE = 1_000;
const MAX_LEASE_MS = 3_600_000;
/** A thousand years. */
const MAX_EXPIRY_MS = 1_000 * 365 * 86_400_000;

const titleRule = textOfLength(1, MAX_TITLE_LENGTH);

const milliseconds: OptionRule = {
  expected: 'a number of milliseconds, 0 or more',
  accepts: (value) => typeof value === 'number' && value >= 0,
};

const conversationsOptions = new OptionSet<ConversationsOptions>('openConversations()', {
  url: { ...nullableString, isSecret: true },
  file: nullableString,
  scope: textOfLength(0, MAX_SCOPE_LENGTH),
  expiresAfterMs: millisecondsUpTo(MAX_EXPIRY_MS),
  waitMs: milliseconds,
  leaseMs: millisecondsUpTo(MAX_LEASE_MS),
});
const openOptions = new OptionSet<OpenOptions>('open()', { waitMs: milliseconds });
const listOptions = new OptionSet<ListOptions>('A list of conversations', {
  prefix: textOfLength(0, MAX_ID_LENGTH),
  limit: {
    expected: `a whole number from 1 to ${MAX_PAGE}`,
    accepts: (value) => positiveInteger.accepts(value) && Number(value) <= MAX_PAGE,
  },
  cursor: stringRule,
});

const memoryOptions = new OptionSet('Memory', {
  text: stringRule,
  query: stringRule,
  id: stringRule,
  owner: textOfLength(0, MAX_OWNER_LENGTH),
  limit: positiveInteger,
});

/** A path or a URL is short for an object. */
export function readOptions(given: string | ConversationsOptions): ConversationsOptions {
  const options = typeof given === 'string' ? (/^\w+:\/\//.test(given) ? { url: given } : { file: given }) : given;
  if (typeof options !== 'object' || options === null) {
    const advice = 'a SQLite file, a postgres:// URL, or an object of options';
    throw new PocketError('CONFIG_INVALID', `openConversations() takes ${advice}.`);
  }
  conversationsOptions.check(options);
  return options;
}

export function checkId(id: string): void {
  checkValue('The id of a conversation', id, textOfLength(1, MAX_ID_LENGTH));
}

export function checkOwner(owner: string): void {
  checkValue('The owner of conversations', owner, textOfLength(0, MAX_OWNER_LENGTH));
}

export function checkTurn(turn: string): void {
  checkValue('The label of a turn', turn, textOfLength(1, MAX_ID_LENGTH));
}

/** A turn that is appended or replaced. */
export function checkSavedTurn(turn: unknown): void {
  if (!isRecord(turn)) throw configError('A turn is an object: { turn, messages }.');
  checkTurn(turn.turn as string);
  checkValue('The messages of a turn', turn.messages, {
    expected: `a list of messages, each with ${MESSAGE_PARTS}`,
    accepts: isMessageList,
  });
}

export function checkTurns(turns: readonly string[]): void {
  const accepts = (value: unknown) => Array.isArray(value) && Array.from(value).every(isString);
  checkValue('The turns to remove', turns, { expected: 'a list of labels', accepts });
}

/** `method` is named in errors. */
export function checkMemoryOptions(method: string, options: object, needed: 'text' | 'query' | 'id' | 'owner'): void {
  if (!isRecord(options)) throw configError(`${method} takes an object, such as { ${needed} }.`);
  memoryOptions.check(options, method);
  if (needed !== 'owner') checkValue(`${method}: ${needed}`, options[needed], stringRule);
}

export function checkTitle(title: string): void {
  checkValue('The title of a conversation', title, titleRule);
}

export function checkSearchText(text: string): void {
  checkValue('The text to search for', text, textOfLength(1, MAX_ID_LENGTH));
}

export function checkOpenOptions(options: OpenOptions): void {
  checkValue('The options of open()', options, objectRule);
  openOptions.check(options);
}

export function checkListOptions(options: ListOptions): void {
  checkValue('The options of a list', options, objectRule);
  listOptions.check(options);
}

/** Any object with the method is accepted. */
export function checkAgent(agent: unknown, method: keyof ConversationAgent): void {
  if (isRecord(agent) && typeof agent[method] === 'function') return;
  throw configError(`Pass a PocketAgent: to continue a conversation, it needs the method ${method}().`);
}

/** `conversation`: what `export` returned, or what another program wrote. */
export function checkImport(conversation: unknown): void {
  if (!isRecord(conversation)) throw configError('An imported conversation must be an object, as export() returns it.');
  const { title, messages, turns = [], compacted } = conversation;
  if (!isMessageList(messages))
    throw configError(`An imported conversation needs \`messages\`, each with ${MESSAGE_PARTS}.`);
  if (title !== undefined && title !== '') checkValue('The title of an imported conversation', title, titleRule);
  if (!Array.isArray(turns)) throw configError('`turns` of an imported conversation must be a list of labels.');
  for (const turn of turns) if (turn !== '') checkTurn(turn);
  if (compacted !== undefined && !isRecord(compacted))
    throw configError('`compacted` of an imported conversation must be an object.');
}

const MESSAGE_PARTS = '`role` (user, assistant or tool) and `content` (a list of parts, which are objects)';
const roles = ['user', 'assistant', 'tool'];

/** A copy, because `every` skips the holes of a list. */
function isMessageList(value: unknown): boolean {
  return Array.isArray(value) && Array.from(value).every(isMessage);
}

function isMessage(message: unknown): boolean {
  if (!isRecord(message) || !Array.isArray(message.content)) return false;
  return roles.some((role) => role === message.role) && message.content.every(isRecord);
}
