// The turns of a measuring process, which its parent assigns.
import { once } from 'node:events';
import type { Figures } from '../contenders/contender.ts';

export type Told = { isWarm: boolean } | { figures: Figures; revision?: string | undefined };

/** Waits for the next turn; resolves with whether all contenders are warm. */
export async function pause(isWarm = true): Promise<boolean> {
  if (!process.send) return isWarm;
  tell({ isWarm });
  const [areAllWarm] = await once(process, 'message');
  return areAllWarm === true;
}

export function tell(what: Told, told: () => void = () => {}): void {
  process.send?.(what, told);
}
