// Checks whether a process is alive, and waits for conditions.
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** False for ended processes and zombies. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc/self/stat') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Waits until the condition is true. Returns false after the timeout. */
export async function waitUntil(isTrue: () => boolean, timeoutMs = 10_000): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (!isTrue()) {
    if (performance.now() > end) return false;
    await pause(20);
  }
  return true;
}
