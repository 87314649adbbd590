// The key that proves owner tokens, contexts and push notifications: a given one, or one made once and kept in a file.
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Agent3Error } from '../base/agent3-error.ts';

/** Of several hubs on one database all must be given the same. */
export async function hubKey(given: string | undefined, file: string): Promise<string> {
  return given ?? (await keptKey(file));
}

/** One key for each purpose, so that what leaks of one says nothing of another. */
export function keyFor(purpose: string, key: string): string {
  return createHmac('sha256', key).update(`agent3 ${purpose}`).digest('base64url');
}

async function keptKey(file: string): Promise<string> {
  const own = `${file}.${randomUUID()}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(own, randomBytes(32).toString('base64url'), { mode: 0o600 });
    // whoever is first makes it, whole; all others read what is there
    await link(own, file).catch(unlessThere);
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Agent3Error('CONFIG_INVALID', `The key of this hub cannot be kept in ${file}: set AGENT3_TOKEN_KEY`, {
      cause: error,
    });
  } finally {
    await rm(own, { force: true });
  }
}

function unlessThere(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
}
