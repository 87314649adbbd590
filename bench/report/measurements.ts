// Keeps what full measurements of all contenders found, work by work, so that RESULTS.md can be measured in several parts.
import { readFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Measured } from '../measuring/rounds.ts';
import { works } from '../tasks/tasks.ts';

export interface Measurement {
  commit: string;
  minutes: number;
  /** Share of CPU time taken by other virtual machines; undefined if unknown. */
  stolen?: number | undefined;
  measured: readonly MeasuredInRound[];
}

export interface MeasuredInRound extends Measured {
  round: number;
}

/** What all measurements of one table have in common. */
export type Conditions = Record<string, unknown>;

interface Kept {
  conditions: Conditions;
  works: Record<string, Measurement>;
}

export class Measurements {
  readonly #file: string;
  readonly #conditions: Conditions;
  readonly #works: Record<string, Measurement>;

  /** Measurements of the file under other conditions, such as other versions, do not count. */
  constructor(file: string, conditions: Conditions) {
    this.#file = file;
    this.#conditions = JSON.parse(JSON.stringify(conditions));
    const kept = read(file);
    this.#works = isDeepStrictEqual(kept?.conditions, this.#conditions) ? { ...kept?.works } : {};
  }

  add(work: string, measurement: Measurement): void {
    this.#works[work] = measurement;
    const kept: Kept = { conditions: this.#conditions, works: this.#works };
    writeFileSync(this.#file, `${JSON.stringify(kept, null, 1)}\n`);
  }

  get(work: string): Measurement | undefined {
    return this.#works[work];
  }

  /** Works that were not measured under these conditions. */
  get missing(): string[] {
    return Object.keys(works).filter((work) => !this.#works[work]);
  }
}

function read(file: string): Kept | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
