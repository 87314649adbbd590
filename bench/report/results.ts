// The measured values of every contender, figure and round.
import { median } from '../measuring/timing.ts';
import { workloads } from '../tasks/tasks.ts';
import { figures } from './figures.ts';
import type { MeasuredInRound, Measurements } from './measurements.ts';

export class Results {
  /** By contender and figure, then by round. Rounds in which the contender failed are missing. */
  readonly #values = new Map<string, Map<number, number>>();
  readonly #failed = new Set<string>();
  /** The MCP revision that each contender used with a server in its process. */
  readonly revisions = new Map<string, string>();
  /** Why contenders could not be measured. */
  readonly notes: string[] = [];

  static of(measurements: Measurements): Results {
    const results = new Results();
    for (const work of Object.keys(workloads))
      for (const measured of measurements.get(work)?.measured ?? []) results.add(work, measured);
    return results;
  }

  add(work: string, { name, round, figures: values, revision, failure = '' }: MeasuredInRound): void {
    if (revision) this.revisions.set(name, revision);
    if (!values) {
      this.#failed.add(`${name}\0${work}`);
      this.notes.push(`${name}, ${work}, round ${round + 1}: ${failure}`);
      return;
    }
    for (const [id, value] of Object.entries(values)) {
      const key = `${name}\0${id}`;
      this.#values.set(key, (this.#values.get(key) ?? new Map()).set(round, value));
    }
  }

  get hasFailures(): boolean {
    return this.#failed.size > 0;
  }

  /** In at least one round. */
  hasFailed(contender: string, work: string): boolean {
    return this.#failed.has(`${contender}\0${work}`);
  }

  value(contender: string, id: string): number | undefined {
    const values = this.values(contender, id);
    return values.length > 0 ? median(values) : undefined;
  }

  /** The median spread of everything that was measured more than once. */
  get noise(): number {
    const repeated = [...this.#values].filter(([, values]) => values.size > 1);
    return median(repeated.map(([, values]) => spreadOf([...values.values()])));
  }

  ratio(contender: string, id: string): number | undefined {
    const ratios = this.ratios(contender, id);
    return ratios.length > 0 ? median(ratios) : undefined;
  }

  /** Each value relative to the base in the same round, because the speed of a machine varies over time. */
  ratios(contender: string, id: string): readonly number[] {
    const { base = '', unit } = figures.find((figure) => figure.id === id) ?? {};
    if (unit === '×') return this.values(contender, id); // a ratio of two values of the same contender
    const others = this.#values.get(`${base}\0${id}`);
    return [...(this.#values.get(`${contender}\0${id}`) ?? [])].flatMap(([round, value]) => {
      const other = others?.get(round);
      return other === undefined ? [] : value / other;
    });
  }

  values(contender: string, id: string): readonly number[] {
    return [...(this.#values.get(`${contender}\0${id}`)?.values() ?? [])];
  }
}

/** Half the distance between the highest and the lowest value, relative to the median. */
export function spreadOf(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2 / median(values);
}
