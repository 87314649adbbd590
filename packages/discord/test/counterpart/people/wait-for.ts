// Waits for a condition; checks it again after every event, without polling.
import type { World } from '../state/world.ts';

export interface WaitOptions {
  timeoutMs?: number;
  /** Names the condition in the error. */
  what?: string;
  /** Called after the timeout, to show the actual state in the error. */
  seen?: () => string;
}

/** Five seconds, scaled like all polls of the tests. */
const DEFAULT_TIMEOUT_MS = 5_000 * Number(process.env.TEST_PATIENCE ?? 2);

export function waitFor<Found>(
  world: World,
  look: () => Found | undefined | null | false,
  { timeoutMs = DEFAULT_TIMEOUT_MS, what = 'it', seen }: WaitOptions = {},
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
      reject(new Error(`Waited ${timeoutMs} ms for ${what}.${instead ? ` Messages so far:\n${instead}` : ''}`));
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
