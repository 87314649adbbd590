// Waits until something can be seen; looks again when something happened, never by the clock.
import type { World } from '../state/world.ts';

export interface WaitOptions {
  timeoutMs?: number;
  /** What is waited for, for the error. */
  what?: string;
  /** Told when the time is over, so that the error shows what was there instead. */
  seen?: () => string;
}

export function waitFor<Found>(
  world: World,
  look: () => Found | undefined | null | false,
  { timeoutMs = 60_000, what = 'it', seen }: WaitOptions = {},
): Promise<Found> {
  return new Promise((resolve, reject) => {
    let planned: NodeJS.Immediate | undefined;
    const end = () => {
      clearTimeout(timer);
      clearImmediate(planned);
      stop();
    };
    const check = () => {
      try {
        const found = look();
        if (found === undefined || found === null || found === false) return;
        end();
        resolve(found);
      } catch (error) {
        end();
        reject(error);
      }
    };
    const timer = setTimeout(() => {
      end();
      const instead = seen?.();
      reject(new Error(`Waited ${timeoutMs} ms for ${what}.${instead ? ` This is what happened:\n${instead}` : ''}`));
    }, timeoutMs);
    const stop = world.onChange(() => {
      planned ??= setImmediate(() => {
        planned = undefined;
        check();
      });
    });
    check();
  });
}
