// What another program pipes in: part of the prompt, or all of it.
import { fstatSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { PocketError } from '@pocket-agent/kit';

const MOST_BYTES = 16 * 1024 * 1024;
const PATIENCE_MS = 5_000;

interface PipedInputOptions {
  /** With a prompt, a pipe that stays open and says nothing is not waited for: whoever left it open may not know. */
  isNeeded: boolean;
  signal: AbortSignal;
}

/** Nothing from a terminal, from /dev/null or from a closed standard input. */
export async function readPipedInput({ isNeeded, signal }: PipedInputOptions): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY || !isPiped()) return '';
  let isSilent = true;
  stdin.once('readable', () => {
    isSilent = false;
  });
  const patience = setTimeout(() => {
    if (!isSilent) return;
    const outcome = isNeeded ? 'still waiting for it.' : 'going on without it (a - after the prompt waits).';
    process.stderr.write(`Nothing was piped in so far; ${outcome}\n`);
    if (!isNeeded) stdin.destroy();
  }, PATIENCE_MS);
  try {
    return await readAll(addAbortSignal(signal, stdin));
  } catch (error) {
    if (isSilent && stdin.destroyed && !signal.aborted) return '';
    throw error;
  } finally {
    clearTimeout(patience);
  }
}

export function joinPrompt(prompt: string, input: string): string {
  return [prompt.trim(), input.trim()].filter((part) => part !== '').join('\n\n');
}

function isPiped(): boolean {
  try {
    const input = fstatSync(0);
    return input.isFIFO() || input.isFile() || input.isSocket();
  } catch {
    return false; // there is no standard input at all
  }
}

async function readAll(input: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MOST_BYTES) throw new PocketError('CONFIG_INVALID', 'The piped input is too long: at most 16 MB.');
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}
