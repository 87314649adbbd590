// Lets a measuring process work only when its parent gives it a turn.
import { once } from 'node:events';
import type { Figures } from '../contenders/contender.ts';

export type MeasurerMessage = { isWarm: boolean } | { figures: Figures; revision?: string | undefined };

/** Waits for the next turn. Resolves with whether all contenders are warm. */
export async function waitForTurn(isWarm = true): Promise<boolean> {
  if (!process.send) return isWarm;
  sendToParent({ isWarm });
  const [areAllWarm] = await once(process, 'message');
  return areAllWarm === true;
}

export function sendToParent(message: MeasurerMessage, onSent: () => void = () => {}): void {
  process.send?.(message, onSent);
}
