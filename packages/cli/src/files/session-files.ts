// Session files of earlier versions: moved into the database when sessions are opened for the first time.
import { readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorText, isRecord, PocketError } from '@pocket-agent/kit';
import { dataFolder } from '@pocket-agent/kit/private-files';
import type { Conversations } from '@pocket-agent/store';
import type { Message } from 'pocket-agent';
import { readHistory } from 'pocket-agent/internal';
import { hasCode } from './error-code.ts';

const FORMAT = 1;

/** A file that stays where it is, because it cannot be moved into the database. */
export interface LeftFile {
  name: string;
  savedAt: Date;
  problem: PocketError;
}

export async function moveSessionFiles(chats: Conversations): Promise<LeftFile[]> {
  const folder = join(dataFolder(), 'sessions');
  const files = await readdir(folder).catch((error) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw new PocketError('CONFIG_INVALID', `${folder} cannot be read: ${errorText(error)}`, { cause: error });
  });
  const left: LeftFile[] = [];
  for (const file of files.filter((name) => name.endsWith('.json')).sort()) {
    const [name, path] = [file.slice(0, -'.json'.length), join(folder, file)];
    const savedAt = await stat(path).then(
      ({ mtime }) => mtime,
      () => new Date(0),
    );
    const problem = await moveFile(chats, { name, path, savedAt }).catch((error) => unreadable(name, path, error));
    if (problem) left.push({ name, savedAt, problem });
  }
  return left;
}

interface SessionFile {
  name: string;
  path: string;
  savedAt: Date;
}

/** Returns why the file was not moved. */
async function moveFile(chats: Conversations, { name, path, savedAt }: SessionFile): Promise<PocketError | undefined> {
  const messages = await readMessages(name, path);
  if (!messages) return undefined; // another process moved it
  const time = savedAt.toISOString();
  const isNew =
    messages.length === 0 || (await chats.import({ id: name, title: '', createdAt: time, updatedAt: time, messages }));
  if (!isNew && !(await wasMoved(chats, name, messages))) {
    const text = `${path} was not moved into the database, which has a session "${name}" already. Rename or delete the file.`;
    return new PocketError('CONFIG_INVALID', text);
  }
  await rename(path, `${path}.moved`).catch((error) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
  return undefined;
}

/** Whether the session in the database continues the one in the file. */
async function wasMoved(chats: Conversations, name: string, messages: readonly Message[]): Promise<boolean> {
  const saved = await chats.export(name);
  return JSON.stringify(saved?.messages.slice(0, messages.length)) === JSON.stringify(messages);
}

async function readMessages(name: string, file: string): Promise<Message[] | undefined> {
  const content = await readFile(file, 'utf8').catch((error) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (content === undefined) return undefined;
  const saved: unknown = JSON.parse(content);
  if (!isRecord(saved) || typeof saved.format !== 'number') throw new Error('the field "format" is missing');
  if (saved.format > FORMAT) {
    throw new PocketError(
      'CONFIG_INVALID',
      `Session "${name}" was written by a newer pocket-agent (format ${saved.format}; this version reads ${FORMAT}): update pocket-agent, or use another name.`,
    );
  }
  return readHistory({ llmModel: '', messages: Array.isArray(saved.messages) ? saved.messages : undefined });
}

function unreadable(name: string, file: string, error: unknown): PocketError {
  if (error instanceof PocketError && error.message.startsWith(`Session "${name}" `)) return error;
  const text = `Session "${name}" cannot be read: ${errorText(error)}. Fix or delete ${file}.`;
  return new PocketError('CONFIG_INVALID', text, { cause: error });
}
