// The loop with tools in process: short runs, many tools, parallel calls, long runs, streams.
import { setTimeout as pause } from 'node:timers/promises';
import {
  add,
  addCalls,
  type BenchAgent,
  type Contender,
  type Effort,
  type Figures,
  type Job,
  toolsOf,
} from '../contenders/contender.ts';
import { inParts, median, repeatFor, timed, timedTogether, warmUp } from '../measuring/timing.ts';

const slowAdd = {
  ...add,
  run: async (a: number, b: number) => {
    await pause(5);
    return add.run(a, b);
  },
};
const LONG = 200;
const DELTAS = 2_000;

export async function loop({ inProcess }: Contender, effort: Effort): Promise<Figures> {
  const perRun = async (...jobs: Job[]) => {
    const all: BenchAgent[] = [];
    for (const job of jobs) {
      const running = await inProcess(job);
      await checkRun(running, job.turns);
      all.push(running);
    }
    const timings = await timedTogether(
      all.map(({ run }) => run),
      effort,
    );
    for (const { close } of all) await close?.();
    return timings;
  };
  const twenty = { steps: 20, calls: 1, deltas: 1 };
  const [one, some, many] = await perRun(...[1, 20, 40].map((count) => ({ turns: twenty, tools: toolsOf(count) })));
  const [atOnce] = await perRun({ turns: { steps: 1, calls: 16, deltas: 1 }, tools: [slowAdd] });
  if (!one || !some || !many || !atOnce) throw new Error('A measurement is missing.');
  return {
    step: one.cpu / 20,
    stepOf40Tools: many.cpu / 20,
    growthOf40Tools: many.cpu / one.cpu,
    growthOf20Tools: some.cpu / one.cpu,
    atOnce: atOnce.wall / 1_000,
    ...(await longRuns(inProcess, effort)),
    ...(await streams(inProcess, effort)),
  };
}

/** Makes one run, and checks that it makes every call. */
export async function checkRun(running: BenchAgent, { steps, calls }: Job['turns']): Promise<void> {
  addCalls.count = 0;
  const answer = await running.run();
  if (!answer.startsWith('word') || addCalls.count !== steps * calls)
    throw new Error(`A run made ${addCalls.count} tool calls and answered "${answer.slice(0, 80)}".`);
}

/** Measures a step as the time between two model calls. */
async function longRuns(inProcess: Contender['inProcess'], effort: Effort): Promise<Figures> {
  let modelCalls: number[] = [];
  const onTurn = () => void modelCalls.push(performance.now());
  const turns = { steps: LONG, calls: 1, deltas: 1 };
  const running = await inProcess({ turns, tools: toolsOf(10), onTurn });
  await checkRun(running, turns);
  const early: number[] = [];
  const late: number[] = [];
  const run = async () => {
    modelCalls = [];
    await running.run();
    if (modelCalls.length !== LONG + 1)
      throw new Error(`A run of ${LONG} steps called the model ${modelCalls.length} times.`);
    const steps = modelCalls.slice(1).map((at, index) => at - (modelCalls[index] as number));
    early.push(...steps.slice(5, 15));
    late.push(...steps.slice(-10));
  };
  await warmUp([run], { ...effort, warmRuns: 1 });
  early.length = 0;
  late.length = 0;
  await inParts(effort, async (milliseconds) => void (await repeatFor(milliseconds, run)));
  await running.close?.();
  return { stepAt10: median(early) * 1_000, stepAt200: median(late) * 1_000, growth: median(late) / median(early) };
}

async function streams(inProcess: Contender['inProcess'], effort: Effort): Promise<Figures> {
  const { stream, close } = await inProcess({ turns: { steps: 0, calls: 0, deltas: DELTAS }, tools: toolsOf(1) });
  const seen = await stream();
  if (seen !== DELTAS) throw new Error(`Received ${seen} of ${DELTAS} deltas.`);
  const { cpu } = await timed(stream, effort);
  await close?.();
  return { delta: cpu / DELTAS };
}
