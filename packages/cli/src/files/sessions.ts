// Sessions: conversations saved under a name in the user's data folder.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, isRecord, PocketError } from '@pocket-agent/kit';
import { dataFolder, writePrivately } from '@pocket-agent/kit/private-files';
import { type Message, textOf } from 'pocket-agent';
import { readHistory } from 'pocket-agent/internal';
import { plural } from '../terminal/usage-line.ts';
import { FileLock, hasCode } from './file-lock.ts';

const FORMAT = 1;

export class Session {
  readonly name: string;
  readonly file: string;
  readonly messages: readonly Message[];
  readonly #lock: FileLock;

  private constructor(name: string, lock: FileLock, messages: readonly Message[]) {
    this.name = name;
    this.file = sessionFile(name);
    this.messages = messages;
    this.#lock = lock;
  }

  /** Opens or creates a session. It is locked for other processes until `close()`. */
  static async open(name: string): Promise<Session> {
    const file = sessionFile(name);
    const lock = await FileLock.take(`${file}.lock`, `Session "${name}"`);
    try {
      return new Session(name, lock, await readMessages(name, file));
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  async save(messages: readonly Message[]): Promise<void> {
    const { name, file } = this;
    try {
      await writePrivately(file, `${JSON.stringify({ format: FORMAT, name, savedAt: new Date(), messages })}\n`);
    } catch (error) {
      throw new PocketError('CONFIG_INVALID', `Session "${name}" could not be saved: ${errorText(error)}`, {
        cause: error,
      });
    }
  }

  close(): void {
    this.#lock.release();
  }
}

export interface SessionSummary {
  name: string;
  savedAt: Date;
  messages: number;
  /** The first user message. */
  beginning: string;
  /** Why the file cannot be read. */
  problem?: string;
}

/** All saved sessions, newest first. */
export async function listSessions(): Promise<SessionSummary[]> {
  const folder = join(dataFolder(), 'sessions');
  const files = await readdir(folder).catch((error) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw new PocketError('CONFIG_INVALID', `${folder} cannot be read: ${errorText(error)}`, { cause: error });
  });
  const names = files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
  const all = await Promise.all(names.map((name) => summary(name, join(folder, `${name}.json`))));
  return all.sort((a, b) => b.savedAt.getTime() - a.savedAt.getTime());
}

async function summary(name: string, file: string): Promise<SessionSummary> {
  const savedAt = await stat(file).then(
    ({ mtime }) => mtime,
    () => new Date(0),
  );
  try {
    const messages = await readMessages(name, file);
    const first = messages.find(({ role }) => role === 'user');
    return { name, savedAt, messages: messages.length, beginning: first ? textOf(first) : '' };
  } catch (error) {
    return { name, savedAt, messages: 0, beginning: '', problem: errorText(error) };
  }
}

export function countedMessages({ messages }: Session): string {
  return plural(messages.length, 'message');
}

/** The name must be a plain file name: no path, no leading dot, no device name. */
function sessionFile(name: string): string {
  const isName = /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,63}$/u.test(name) && !/[. ]$/.test(name);
  if (isName && !/^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(name)) {
    return join(dataFolder(), 'sessions', `${name}.json`);
  }
  throw new PocketError(
    'CONFIG_INVALID',
    `"${name}" is not a valid session name: use at most 64 letters, digits, spaces, "_", "-" and ".", with no dot at either end.`,
  );
}

async function readMessages(name: string, file: string): Promise<Message[]> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw broken(name, file, errorText(error));
  }
  let saved: unknown;
  try {
    saved = JSON.parse(content);
  } catch (error) {
    throw broken(name, file, errorText(error));
  }
  if (!isRecord(saved) || typeof saved.format !== 'number') throw broken(name, file, 'the field "format" is missing');
  if (saved.format > FORMAT) {
    throw new PocketError(
      'CONFIG_INVALID',
      `Session "${name}" was written by a newer pocket-agent (format ${saved.format}; this version reads ${FORMAT}): update pocket-agent, or use another name.`,
    );
  }
  try {
    return readHistory({ llmModel: '', messages: Array.isArray(saved.messages) ? saved.messages : undefined });
  } catch (error) {
    throw broken(name, file, errorText(error));
  }
}

function broken(name: string, file: string, reason: string): PocketError {
  return new PocketError('CONFIG_INVALID', `Session "${name}" cannot be read: ${reason}. Fix or delete ${file}.`);
}
