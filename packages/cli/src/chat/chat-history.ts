// What was typed in chats before, for the arrow keys: one JSON text per line, in the user's data folder.
import { appendFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dataFolder, makePrivateFolder, writePrivately } from '@pocket-agent/kit/private-files';

const MOST_ENTRIES = 1_000;
const LONGEST_ENTRY = 10_000;

export class ChatHistory {
  readonly #file = join(dataFolder(), 'chat-history.jsonl');
  /** Oldest first. */
  readonly entries: string[] = [];

  static async load(): Promise<ChatHistory> {
    const history = new ChatHistory();
    const lines = (await readFile(history.#file, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
    for (const line of lines.slice(-MOST_ENTRIES)) {
      const entry = parse(line);
      if (entry !== undefined) history.entries.push(entry);
    }
    // several chats add to one file, so it is made shorter only when it has grown long
    if (lines.length > 2 * MOST_ENTRIES) await history.#write().catch(() => {});
    return history;
  }

  /** A history that cannot be kept is no reason to stop a chat. */
  async add(entry: string): Promise<void> {
    if (entry === this.entries.at(-1) || entry.length > LONGEST_ENTRY) return;
    this.entries.push(entry);
    if (this.entries.length > MOST_ENTRIES) this.entries.shift();
    try {
      await makePrivateFolder(dirname(this.#file));
      await appendFile(this.#file, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    } catch {
      // the arrow keys still find it in this chat
    }
  }

  #write(): Promise<void> {
    return writePrivately(this.#file, this.entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  }
}

function parse(line: string): string | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'string' ? entry : undefined;
  } catch {
    return undefined; // a line that was cut off
  }
}
