// Reads piped input, which is appended to the prompt.
import { fstatSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { PocketError } from '@pocket-agent/kit';

const MAX_BYTES = 16 * 1024 * 1024;
const SILENCE_MS = 5_000;

interface PipedInputOptions {
  /** False: do not wait for a silent pipe, because it may be open by accident. */
  isNeeded: boolean;
  signal: AbortSignal;
}

/** An empty string for a terminal, /dev/null or a closed standard input. */
export async function readPipedInput({ isNeeded, signal }: PipedInputOptions): Promise<string> {
  const { stdin } = process;
  if (stdin.isTTY || !isPiped(stdin.fd)) return '';
  let isSilent = true;
  stdin.once('readable', () => {
    isSilent = false;
  });
  const timer = setTimeout(() => {
    if (!isSilent) return;
    const outcome = isNeeded ? 'still waiting.' : 'continuing without it (add - after the prompt to wait).';
    process.stderr.write(`No piped input yet; ${outcome}\n`);
    if (!isNeeded) stdin.destroy();
  }, SILENCE_MS);
  try {
    return await readAll(addAbortSignal(signal, stdin));
  } catch (error) {
    if (isSilent && stdin.destroyed && !signal.aborted) return '';
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

export function joinPrompt(prompt: string, input: string): string {
  return [prompt.trim(), input.trim()].filter((part) => part !== '').join('\n\n');
}

function isPiped(fd: number): boolean {
  try {
    const input = fstatSync(fd);
    return input.isFIFO() || input.isFile() || input.isSocket();
  } catch {
    return false; // standard input is closed
  }
}

async function readAll(input: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_BYTES) throw new PocketError('CONFIG_INVALID', 'The piped input is too long: at most 16 MB.');
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}
