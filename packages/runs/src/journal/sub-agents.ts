// The state of the sub-agents of a run, without their messages: one JSON value of the run.
import type { AppendOptions, RunTotals } from 'pocket-agent';

interface SubAgent extends Pick<AppendOptions, 'progress' | 'compacted'> {
  /** The calls of its parent agent, in the step in progress, that it has begun to answer. */
  madeFor: string[];
  /** Its usage for each of these calls. */
  used: Record<string, RunTotals>;
}

export class SubAgents {
  readonly #byPath: Map<string, SubAgent>;

  constructor(json: string | null) {
    this.#byPath = new Map(Object.entries(json === null ? {} : JSON.parse(json)));
  }

  get json(): string {
    return JSON.stringify(Object.fromEntries(this.#byPath));
  }

  of(path: string): SubAgent {
    return this.#byPath.get(path) ?? { madeFor: [], used: {} };
  }

  appended(path: string, { replaces, compacted, progress, madeFor }: AppendOptions): void {
    const known = this.of(path);
    const isNew = madeFor !== undefined && known.madeFor.at(-1) !== madeFor;
    const kept = replaces ? undefined : known.compacted;
    this.#byPath.set(path, {
      progress,
      compacted: compacted ?? kept,
      madeFor: isNew ? [...known.madeFor, madeFor] : known.madeFor,
      used: madeFor !== undefined && progress ? { ...known.used, [madeFor]: progress.totals } : known.used,
    });
  }

  /** Forgets the calls of a step, which are all answered. False if none of them was for a sub-agent. */
  endStep(path: string): boolean {
    const below = [...this.#byPath].filter(([each, { madeFor }]) => isBelow(each, path) && madeFor.length > 0);
    for (const [each, subAgent] of below) this.#byPath.set(each, { ...subAgent, madeFor: [], used: {} });
    return below.length > 0;
  }

  /** What the sub-agents of an agent have used, by the call. */
  usedBelow(path: string): Record<string, RunTotals> {
    const own = [...this.#byPath].filter(([each]) => each.slice(0, Math.max(0, each.lastIndexOf('/'))) === path);
    return Object.assign({}, ...own.map(([, { used }]) => used));
  }
}

function isBelow(path: string, of: string): boolean {
  return of === '' ? path !== '' : path.startsWith(`${of}/`);
}
