// Reads the settings of the programs of this project, and reports their errors.
import { readFileSync } from 'node:fs';
import { PocketError } from 'pocket-agent';

/** Runs a program. An error that says what to do ends it with only its message; other errors keep their stack. */
export async function runProgram(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (error) {
    if (!saysWhatToDo(error)) throw error;
    const advice = error.message.includes('EADDRINUSE') ? ' The variable PORT sets it.' : '';
    console.error(`${error.message}${advice}`);
    process.exit(1);
  }
}

/** Errors of Pocket Agent and of the network have a code. Codes that start with ERR_ are bugs. */
function saysWhatToDo(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && !String(error.code).startsWith('ERR_');
}

/** The number in an environment variable, or `fallback` if it is not set. */
export function numberFrom(variable: string, fallback: number): number {
  const text = process.env[variable];
  if (!text) return fallback;
  if (/^\d+$/.test(text)) return Number(text);
  throw new PocketError('CONFIG_INVALID', `${variable} must be a whole number such as ${fallback}, got "${text}".`);
}

/** The secret in an environment variable. */
export function secretFrom(variable: string): string {
  const secret = process.env[variable];
  if (secret) return secret;
  throw new PocketError('CONFIG_INVALID', `Set ${variable} to a secret that clients must send.`);
}

export function readJson(file: string) {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file} is not valid JSON: ${(error as Error).message}`);
  }
}
