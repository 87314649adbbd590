// The key that signs owner tokens, context ids and push tokens: configured, or generated once and stored in a file.
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '@pocket-agent/kit';
import { Agent3Error } from '../base/agent3-error.ts';

/** Derives one key per purpose, so that a leak of one does not affect the others. */
export function keyFor(purpose: string, key: string): string {
  return createHmac('sha256', key).update(`agent3 ${purpose}`).digest('base64url');
}

/** The key in the file; the first process creates it. */
export async function storedKey(file: string): Promise<string> {
  const own = `${file}.${randomUUID()}`;
  try {
    await makeFolder(dirname(file), { mode: 0o700 });
    await writeFile(own, randomBytes(32).toString('base64url'), { mode: 0o600 });
    // `link` is atomic: one process creates the key, all others read it
    await link(own, file).catch(unlessExists);
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Agent3Error('CONFIG_INVALID', `The key of this hub cannot be stored in ${file}: set AGENT3_TOKEN_KEY`, {
      cause: error,
    });
  } finally {
    await rm(own, { force: true });
  }
}

function unlessExists(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
}
