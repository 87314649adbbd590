// What an agent keeps in memory while nobody talks to it.
import { type Contender, type Effort, type Figures, toolsOf } from '../contender.ts';

const job = { turns: { steps: 0, calls: 0, deltas: 1 }, tools: toolsOf(10) };

export async function idle({ inProcess }: Contender, effort: Effort): Promise<Figures | undefined> {
  if (!inProcess) return undefined;
  return { idle: await kilobytesEach(async () => inProcess(job), effort.agents) };
}

/** Each with a connection of its own, that has listed the tools. */
export async function idleMcp({ throughMcp }: Contender, effort: Effort): Promise<Figures | undefined> {
  if (!throughMcp) return undefined;
  const connected = async () => {
    const running = await throughMcp(job);
    await running.run();
    return running;
  };
  return { idleMcp: await kilobytesEach(connected, effort.agents) };
}

async function kilobytesEach(make: () => Promise<object>, count: number): Promise<number> {
  const kept: object[] = [];
  for (let index = 0; index < 20; index++) kept.push(await make());
  const before = heapUsed();
  for (let index = 0; index < count; index++) kept.push(await make());
  const kilobytes = (heapUsed() - before) / 1_000 / count;
  if (kept.length !== count + 20) throw new Error('An agent was lost.');
  return kilobytes;
}

function heapUsed(): number {
  if (!globalThis.gc) throw new Error('Memory is measured with --expose-gc.');
  for (let round = 0; round < 4; round++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}
