// The turns of a process that measures, as its parent gives them.
import { once } from 'node:events';
import type { Figures } from './contender.ts';

export type Told = { isWarm: boolean } | { figures: Figures; revision?: string | undefined };

/** Lets the others have their turn, and resolves with whether all of them are warm. */
export async function pause(isWarm = true): Promise<boolean> {
  if (!process.send) return isWarm;
  tell({ isWarm });
  const [areAllWarm] = await once(process, 'message');
  return areAllWarm === true;
}

export function tell(what: Told, told: () => void = () => {}): void {
  process.send?.(what, told);
}
