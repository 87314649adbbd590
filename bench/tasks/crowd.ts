// Many runs at once in one process, as in a server: each waits for its model most of the time.
import { add, type BenchAgent, type Contender, type Effort, type Figures, type Job } from '../contenders/contender.ts';
import { heapUsed } from './idle.ts';

const STEPS = 10;
const MODEL_MS = 20;
/** For each idle agent of `Effort`: 10,000 runs in a full run of the benchmark. */
const RUNS_PER_AGENT = 10;

const job: Job = { turns: { steps: STEPS, calls: 1, deltas: 1 }, tools: [add], latencyMs: MODEL_MS };

export async function crowd(contender: Contender, { agents }: Effort): Promise<Figures> {
  const count = agents * RUNS_PER_AGENT;
  await runAll(await makeAll(contender, Math.ceil(count / 10)));
  const crowdMemory = await kilobytesHalfway(contender, count);
  const running = await makeAll(contender, count);
  const before = process.cpuUsage();
  await runAll(running);
  const { user, system } = process.cpuUsage(before);
  return { crowdStep: (user + system) / count / STEPS, crowdMemory };
}

/** The heap per run when half of all model calls have been made. */
async function kilobytesHalfway(contender: Contender, count: number): Promise<number> {
  const before = heapUsed();
  let turns = 0;
  let used = 0;
  const onTurn = () => {
    if (++turns === (count * STEPS) / 2) used = heapUsed() - before;
  };
  await runAll(await makeAll(contender, count, onTurn));
  return used / 1_000 / count;
}

function makeAll({ inProcess }: Contender, count: number, onTurn?: () => void): Promise<BenchAgent[]> {
  return Promise.all(Array.from({ length: count }, () => inProcess({ ...job, onTurn })));
}

async function runAll(running: readonly BenchAgent[]): Promise<void> {
  const answers = await Promise.all(running.map((each) => each.run()));
  const wrong = answers.find((answer) => answer.trim() !== 'word');
  if (wrong !== undefined) throw new Error(`A run answered ${JSON.stringify(wrong)}.`);
  await Promise.all(running.map((each) => each.close?.()));
}
