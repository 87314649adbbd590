// The work of every contender, and what is measured of it: runs of five steps, in each of which a model that answers at once calls
// a tool that returns at once. What is left is what it costs to keep the state of a run in a database.

export const STEPS = 5;
const WARM_UP = 5;
const ONE_BY_ONE = 10;
const PARALLEL = 32;
const RUNS = 96;

/** What one process measured. */
export interface RunFigures {
  /** Milliseconds of a step, when one run is made at a time. */
  stepMs: number;
  /** With 32 runs in flight. */
  runsPerSecond: number;
  /** Milliseconds of processor time of this process for a run, with 32 in flight. */
  processorMs: number;
}

/** Makes a run with this id, and resolves with its answer. */
type MakeRun = (id: string) => Promise<unknown>;

/** Prints the figures as one line of JSON. */
export async function measureRuns(makeRun: MakeRun): Promise<void> {
  const checked = async (id: string) => {
    const answer = await makeRun(id);
    if (answer !== 'done') throw new Error(`The run ended with ${JSON.stringify(answer)}.`);
  };
  for (let index = 0; index < WARM_UP; index++) await checked(`warm-${index}`);
  const begun = performance.now();
  for (let index = 0; index < ONE_BY_ONE; index++) await checked(`one-${index}`);
  const stepMs = (performance.now() - begun) / ONE_BY_ONE / STEPS;
  const [from, used] = [performance.now(), process.cpuUsage()];
  let next = 0;
  const chain = async () => {
    while (next < RUNS) await checked(`many-${next++}`);
  };
  await Promise.all(Array.from({ length: PARALLEL }, chain));
  const { user, system } = process.cpuUsage(used);
  const figures: RunFigures = {
    stepMs,
    runsPerSecond: RUNS / ((performance.now() - from) / 1_000),
    processorMs: (user + system) / 1_000 / RUNS,
  };
  console.log(JSON.stringify(figures));
}
