// The input history of the chat for the arrow keys: one JSON string per line, in the user's data folder.
import { appendFile, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { dataFolder, makePrivateFolder, writePrivately } from '@pocket-agent/kit/private-files';

const MAX_ENTRIES = 1_000;
const MAX_ENTRY_LENGTH = 10_000;

export class ChatHistory {
  readonly #file = join(dataFolder(), 'chat-history.jsonl');
  /** Oldest first. */
  readonly entries: string[] = [];

  static async load(): Promise<ChatHistory> {
    const history = new ChatHistory();
    const lines = (await readFile(history.#file, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
    for (const line of lines.slice(-MAX_ENTRIES)) {
      const entry = parse(line);
      if (entry !== undefined) history.entries.push(entry);
    }
    // several chats append to this file, so it is rewritten only when it has grown long
    if (lines.length > 2 * MAX_ENTRIES) await history.#write().catch(() => {});
    return history;
  }

  /** Never throws: the chat works without a saved history. */
  async add(entry: string): Promise<void> {
    if (entry === this.entries.at(-1) || entry.length > MAX_ENTRY_LENGTH) return;
    this.entries.push(entry);
    if (this.entries.length > MAX_ENTRIES) this.entries.shift();
    try {
      await makePrivateFolder(dirname(this.#file));
      await appendFile(this.#file, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    } catch {
      // it is still in the history of this chat
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
    return undefined; // a truncated line
  }
}
