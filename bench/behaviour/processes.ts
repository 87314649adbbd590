// Whether processes are there, and waiting until something is so.
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Not ended, and not merely waiting for its parent to notice that it has. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc/self/stat') || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Whether it came to be so in time. */
export async function until(isSo: () => boolean, timeoutMs = 10_000): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (!isSo()) {
    if (performance.now() > end) return false;
    await pause(20);
  }
  return true;
}
