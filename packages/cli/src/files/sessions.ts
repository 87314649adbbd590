// Conversations that are kept under a name, in the user's data folder, and gone on with later.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, PocketError } from '@pocket-agent/kit';
import { dataFolder, writePrivately } from '@pocket-agent/kit/private-files';
import { type Message, textOf } from 'pocket-agent';
import { readHistory } from 'pocket-agent/internal';
import { plural } from '../terminal/usage-line.ts';
import { FileLock, hasCode } from './file-lock.ts';
import { isObject } from './json-file.ts';

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

  /** The session of this name, or a new one. Until `close()` no other process can have it. */
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
  /** The first words of the person. */
  beginning: string;
  /** Why it cannot be read. */
  problem?: string;
}

/** All that are kept, the newest first. */
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

/** A name is a file name and nothing more: no folder, no dot at its front, nothing that a system takes for a device. */
function sessionFile(name: string): string {
  const isName = /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,63}$/u.test(name) && !/[. ]$/.test(name);
  if (isName && !/^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(name)) {
    return join(dataFolder(), 'sessions', `${name}.json`);
  }
  throw new PocketError(
    'CONFIG_INVALID',
    `"${name}" cannot be the name of a session: letters, digits, "_", "-", "." and spaces, at most 64, and no dot at either end.`,
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
  let kept: unknown;
  try {
    kept = JSON.parse(content);
  } catch (error) {
    throw broken(name, file, errorText(error));
  }
  if (!isObject(kept) || typeof kept.format !== 'number') throw broken(name, file, 'it has no format');
  if (kept.format > FORMAT) {
    throw new PocketError(
      'CONFIG_INVALID',
      `Session "${name}" was written by a newer pocket-agent (format ${kept.format}; this one reads ${FORMAT}): update pocket-agent, or use another name.`,
    );
  }
  try {
    return readHistory({ llmModel: '', messages: Array.isArray(kept.messages) ? kept.messages : undefined });
  } catch (error) {
    throw broken(name, file, errorText(error));
  }
}

function broken(name: string, file: string, reason: string): PocketError {
  return new PocketError('CONFIG_INVALID', `Session "${name}" cannot be read: ${reason}. Mend or delete ${file}.`);
}
