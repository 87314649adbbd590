// Measures the CPU time that this virtual machine did not get (steal time).
import { readFileSync } from 'node:fs';

/** Returns a function that returns the share since this call; undefined on systems that do not count it. */
export function stolenSince(): () => number | undefined {
  const before = processorTime();
  return () => {
    const now = processorTime();
    return before && now ? (now.stolen - before.stolen) / (now.all - before.all) : undefined;
  };
}

function processorTime(): { all: number; stolen: number } | undefined {
  if (process.platform !== 'linux') return undefined;
  // user, nice, system, idle, iowait, irq, softirq, steal; the following fields are part of the first two
  const times = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/ +/).slice(1, 9).map(Number) ?? [];
  return { all: times.reduce((sum, time) => sum + time, 0), stolen: times[7] ?? 0 };
}
