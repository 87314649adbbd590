// The work of every contender, and its figures. A run has five steps, in which a model that answers at once calls a tool that
// returns at once. What remains is the cost of keeping the state of a run in a database.

export const STEPS = 5;
const PARALLEL = 32;
/** Until the code is compiled: a process that makes durable runs lives long. */
const WARM_UP = 64;
const ONE_BY_ONE = 30;
const RUNS = 320;

/** The figures of one process. */
export interface RunFigures {
  /** Milliseconds per step, with one run at a time. */
  stepMs: number;
  /** With 32 runs in flight. */
  runsPerSecond: number;
  /** Milliseconds of processor time of this process per run, with 32 in flight. */
  processorMs: number;
}

/** Makes a run with this id. Resolves with its answer. */
type MakeRun = (id: string) => Promise<unknown>;

/** Prints the figures as one line of JSON. */
export async function measureRuns(makeRun: MakeRun): Promise<void> {
  const checked = async (id: string) => {
    const answer = await makeRun(id);
    if (answer !== 'done') throw new Error(`The run ended with ${JSON.stringify(answer)}.`);
  };
  await makeMany(WARM_UP, (index) => checked(`warm-${index}`));
  const begun = performance.now();
  for (let index = 0; index < ONE_BY_ONE; index++) await checked(`one-${index}`);
  const stepMs = (performance.now() - begun) / ONE_BY_ONE / STEPS;
  const [from, used] = [performance.now(), process.cpuUsage()];
  await makeMany(RUNS, (index) => checked(`many-${index}`));
  const { user, system } = process.cpuUsage(used);
  const figures: RunFigures = {
    stepMs,
    runsPerSecond: RUNS / ((performance.now() - from) / 1_000),
    processorMs: (user + system) / 1_000 / RUNS,
  };
  console.log(JSON.stringify(figures));
}

/** With `PARALLEL` in flight. */
async function makeMany(count: number, make: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const chain = async () => {
    while (next < count) await make(next++);
  };
  await Promise.all(Array.from({ length: PARALLEL }, chain));
}
