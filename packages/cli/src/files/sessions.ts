// Sessions: conversations saved under a name, in a database in the user's data folder. The same for those of other programs.
import { join } from 'node:path';
import { didYouMean, errorText, PocketError } from '@pocket-agent/kit';
import { dataFolder } from '@pocket-agent/kit/private-files';
import type { Conversations, ExportedConversation, Memories } from '@pocket-agent/store';
import type { Message, PocketAgent } from 'pocket-agent';
import { plural } from '../terminal/usage-line.ts';
import { openWrittenConversations } from './served-conversations.ts';
import { type LeftFile, moveSessionFiles } from './session-files.ts';

/** How long a run waits while another process uses its session. */
const WAIT_MS = 5_000;
/** How long a killed process keeps its session from others. */
const LEASE_MS = 3_000;
const MAX_LISTED = 1_000;

export interface SessionSummary {
  name: string;
  savedAt: Date;
  messages: number;
  /** The first user message, or the words that were searched for. */
  beginning: string;
  /** Why it cannot be read. */
  problem?: string;
}

export class Sessions {
  readonly #chats: Conversations;
  readonly #leftFiles: readonly LeftFile[];
  /** The names are file names, as those of this command are. */
  readonly #hasFileNames: boolean;

  private constructor(chats: Conversations, leftFiles?: readonly LeftFile[]) {
    this.#chats = chats;
    this.#leftFiles = leftFiles ?? [];
    this.#hasFileNames = leftFiles !== undefined;
  }

  /** The conversations of a program: those that have no owner. */
  static async ofProgram(location: string, scope: string | undefined): Promise<Sessions> {
    return new Sessions(await openWrittenConversations(location, scope));
  }

  /** Moves session files of earlier versions into the database first. */
  static async open(): Promise<Sessions> {
    const { openConversations } = await import('@pocket-agent/store'); // not loaded without sessions
    const file = join(dataFolder(), 'conversations.sqlite');
    const chats = await openConversations({ file, scope: 'cli', waitMs: WAIT_MS, leaseMs: LEASE_MS }).catch((error) => {
      const text = `Sessions cannot be read or saved: ${errorText(error)}`;
      throw new PocketError('CONFIG_INVALID', text, { cause: error });
    });
    try {
      return new Sessions(chats, await moveSessionFiles(chats));
    } catch (error) {
      await chats.close();
      throw error;
    }
  }

  /** What agents remember for the user of this machine. */
  get memory(): Memories {
    return this.#chats.memory;
  }

  /** The agent continues the session, or begins it. Each step is saved. */
  async resume(name: string, agent: PocketAgent<unknown>): Promise<void> {
    await this.#check(name);
    await this.#chats.attach(name, agent);
  }

  /** Saves the conversation of the agent as a new session, now and after each step. */
  async saveAs(name: string, agent: PocketAgent<unknown>): Promise<void> {
    await this.#check(name);
    const { messages, compacted } = agent;
    const now = new Date().toISOString();
    const about = { id: name, title: '', createdAt: now, updatedAt: now };
    const conversation = { ...about, messages, ...(compacted ? { compacted } : {}) };
    const isTaken = (await this.#chats.get(name)) !== undefined;
    if (isTaken || (messages.length > 0 && !(await this.#chats.import(conversation))))
      throw new PocketError('CONFIG_INVALID', `Session "${name}" already exists: choose another name.`);
    await this.#chats.attach(name, agent);
  }

  /** Newest first; `text` selects those that contain it. */
  async list(text?: string): Promise<SessionSummary[]> {
    const saved = text === undefined ? await this.#listAll() : await this.#search(text);
    const left = this.#leftFiles.map(({ name, savedAt, problem }) => ({
      name,
      savedAt,
      messages: 0,
      beginning: '',
      problem: problem.message,
    }));
    return text === undefined ? [...saved, ...left] : saved;
  }

  /** Whether callers own conversations in the database. */
  async hasOwners(): Promise<boolean> {
    return (await this.#chats.owners({ limit: 1 })).owners.length > 0;
  }

  async export(name: string): Promise<ExportedConversation<Message>> {
    await this.#check(name);
    return (await this.#chats.export<Message>(name)) ?? (await this.#missing(name));
  }

  async rename(name: string, newName: string): Promise<void> {
    await this.#check(name);
    await this.#check(newName);
    if (await this.#chats.changeId(name, newName)) return;
    if ((await this.#chats.get(name)) === undefined) await this.#missing(name);
    throw new PocketError('CONFIG_INVALID', `Session "${newName}" already exists: choose another name.`);
  }

  async delete(name: string): Promise<void> {
    if (!(await this.clear(name))) await this.#missing(name);
  }

  /** Deletes the messages. Returns false if the session has no messages. */
  async clear(name: string): Promise<boolean> {
    await this.#check(name);
    return this.#chats.delete(name);
  }

  close(): Promise<void> {
    return this.#chats.close();
  }

  async #listAll(): Promise<SessionSummary[]> {
    const { conversations } = await this.#chats.list({ limit: MAX_LISTED });
    return conversations.map(({ id, updatedAt, messages, title }) => ({
      name: id,
      savedAt: updatedAt,
      messages,
      beginning: title,
    }));
  }

  async #search(text: string): Promise<SessionSummary[]> {
    const found: SessionSummary[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#chats.search(text, cursor === undefined ? {} : { cursor });
      for (const { id, updatedAt, messages, title, match } of page.conversations)
        found.push({ name: id, savedAt: updatedAt, messages, beginning: match?.text ?? title });
      cursor = page.next;
    } while (cursor !== undefined && found.length < MAX_LISTED);
    return found;
  }

  /** Refuses a name that is not valid, and one whose session is only in a file that cannot be read. */
  async #check(name: string): Promise<void> {
    if (this.#hasFileNames) checkSessionName(name);
    const left = this.#leftFiles.find((file) => file.name === name);
    if (left && (await this.#chats.get(name)) === undefined) throw left.problem;
  }

  async #missing(name: string): Promise<never> {
    const names = (await this.#listAll()).map((session) => session.name);
    const text = `There is no session "${name}".${didYouMean(name, names)} pocket-agent sessions lists them.`;
    throw new PocketError('CONFIG_INVALID', text);
  }
}

/** Sessions that are opened at their first use. */
export class SessionsOnDemand {
  #opened: Promise<Sessions> | undefined;

  get(): Promise<Sessions> {
    this.#opened ??= Sessions.open();
    this.#opened.catch(() => {
      this.#opened = undefined; // the next use tries again
    });
    return this.#opened;
  }

  async memory(): Promise<Memories> {
    return (await this.get()).memory;
  }

  async close(): Promise<void> {
    await this.#opened?.then(
      (all) => all.close(),
      () => {},
    );
  }
}

/** A name must also be a plain file name: no path, no leading dot, no device name. */
export function checkSessionName(name: string): void {
  const isName = /^[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,63}$/u.test(name) && !/[. ]$/.test(name);
  if (isName && !/^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(name)) return;
  throw new PocketError(
    'CONFIG_INVALID',
    `"${name}" is not a valid session name: use at most 64 letters, digits, spaces, "_", "-" and ".", with no dot at either end.`,
  );
}

export function sessionLine(name: string, { messages }: PocketAgent<unknown>): string {
  return `session ${name}: ${plural(messages.length, 'message')}`;
}
