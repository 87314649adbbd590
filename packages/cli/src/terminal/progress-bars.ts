// Progress bars, one line for each tool call that reports progress.
import { printable } from '@pocket-agent/kit';
import { fitted, padded } from './text-width.ts';

export interface Progress {
  toolCallId: string;
  toolName: string;
  progress: number;
  total?: number;
  message?: string;
}

const MAX_LINES = 5;
const BAR_COLUMNS = 20;
const NAME_COLUMNS = 24;

export class ProgressBars {
  readonly #running = new Map<string, Progress>();

  /** False if the call is unknown. */
  end(toolCallId: string): boolean {
    return this.#running.delete(toolCallId);
  }

  update(progress: Progress): void {
    this.#running.set(progress.toolCallId, progress);
  }

  clear(): void {
    this.#running.clear();
  }

  lines(): string[] {
    const all = [...this.#running.values()];
    const more = all.length - MAX_LINES;
    return [...all.slice(0, MAX_LINES).map(progressLine), ...(more > 0 ? [`  … and ${more} more`] : [])];
  }
}

export function progressLine({ toolName, progress, total, message }: Progress): string {
  const name = padded(fitted(printable(toolName), NAME_COLUMNS), Math.min(NAME_COLUMNS, toolName.length));
  const note = message ? ` ${printable(message, 200)}` : '';
  if (!total || !(total > 0) || !Number.isFinite(progress)) return `  ${name} ${printable(String(progress))}${note}`;
  const share = Math.min(1, Math.max(0, progress / total));
  const full = Math.round(share * BAR_COLUMNS);
  return `  ${name} ${'█'.repeat(full)}${'░'.repeat(BAR_COLUMNS - full)} ${Math.round(share * 100)} %${note}`;
}
