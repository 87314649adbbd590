// Yes and no to questions about files, remembered until the file changes.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isRecord, sha256 } from '@pocket-agent/kit';
import { dataFolder, writePrivately } from '@pocket-agent/kit/private-files';

export interface FileQuestion {
  file: string;
  /** The answer covers this content only. */
  content: string;
  /** Undefined if there was no answer; then nothing is remembered. */
  ask(): Promise<boolean | undefined>;
}

export interface FileAnswer {
  answer: boolean | undefined;
  /** Whether the user was asked now. */
  isNew: boolean;
}

export async function askOnce({ file, content, ask }: FileQuestion): Promise<FileAnswer> {
  const key = sha256(`${resolve(file)}\0${sha256(content)}`);
  const known = (await readAnswers())[key];
  if (known !== undefined) return { answer: known, isNew: false };
  const answer = await ask();
  // read again: another chat may have written in between
  if (answer !== undefined)
    await writePrivately(answersFile(), `${JSON.stringify({ ...(await readAnswers()), [key]: answer })}\n`);
  return { answer, isNew: true };
}

function answersFile(): string {
  return join(dataFolder(), 'offered-configs.json');
}

async function readAnswers(): Promise<Record<string, boolean>> {
  try {
    const saved: unknown = JSON.parse(await readFile(answersFile(), 'utf8'));
    if (!isRecord(saved)) return {};
    return Object.fromEntries(
      Object.entries(saved).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean'),
    );
  } catch {
    return {}; // no answers yet
  }
}
