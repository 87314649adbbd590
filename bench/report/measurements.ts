// Keeps the full measurements of all contenders by workload, so that RESULTS.md can be measured in several runs.
import { readFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Measured } from '../measuring/rounds.ts';
import { workloads } from '../tasks/tasks.ts';

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

/** What must be the same for all measurements of one table. */
export type Conditions = Record<string, unknown>;

interface Kept {
  conditions: Conditions;
  works: Record<string, Measurement>;
}

export class Measurements {
  readonly #file: string;
  readonly #conditions: Conditions;
  readonly #workloads: Record<string, Measurement>;

  /** Ignores measurements in the file that were made under other conditions, such as other versions. */
  constructor(file: string, conditions: Conditions) {
    this.#file = file;
    this.#conditions = JSON.parse(JSON.stringify(conditions));
    const kept = read(file);
    this.#workloads = isDeepStrictEqual(kept?.conditions, this.#conditions) ? { ...kept?.works } : {};
  }

  add(work: string, measurement: Measurement): void {
    this.#workloads[work] = measurement;
    const kept: Kept = { conditions: this.#conditions, works: this.#workloads };
    writeFileSync(this.#file, `${JSON.stringify(kept, null, 1)}\n`);
  }

  get(work: string): Measurement | undefined {
    return this.#workloads[work];
  }

  /** The workloads that were not measured under these conditions. */
  get missing(): string[] {
    return Object.keys(workloads).filter((work) => !this.#workloads[work]);
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
