// What an agent keeps in memory while nobody talks to it.
import { type BenchTool, type Contender, type Effort, type Figures, toolsOf } from '../contender.ts';

const TOOLS = 10;
const turns = { steps: 0, calls: 0, deltas: 1 };
const shared = toolsOf(TOOLS);

/**
 * As made, after an answer, for which some do most of their work, and with tools that are made for it alone. What those
 * are described by is the same for everybody, kept and not counted.
 */
export async function idle({ inProcess }: Contender, effort: Effort): Promise<Figures> {
  const make = async (tools = shared) => inProcess({ turns, tools });
  const makeAndAsk = async () => {
    const running = await make();
    await running.run();
    return running;
  };
  const makeWithOwn = async () => {
    const tools = toolsOf(TOOLS);
    return { tools, running: await make(tools) };
  };
  const described = await kilobytesEach(async () => toolsOf(TOOLS), effort.agents);
  return {
    idle: await kilobytesEach(() => make(), effort.agents),
    idleAsked: await kilobytesEach(makeAndAsk, effort.agents),
    idleOwn: (await kilobytesEach(makeWithOwn, effort.agents)) - described,
  };
}

/** Each with a connection of its own to a server that lists the same as all others. */
export async function idleMcp(contender: Contender, effort: Effort): Promise<Figures> {
  const connect = connecting(contender, () => shared);
  return { idleMcp: await kilobytesEach(connect, effort.agents) };
}

/** Each with a connection of its own to a server that has its own words for what it lists. */
export async function idleMcpOwn(contender: Contender, effort: Effort): Promise<Figures> {
  let servers = 0;
  const connect = connecting(contender, () => toolsOf(TOOLS, ` of server ${++servers}`));
  return { idleMcpOwn: await kilobytesEach(connect, effort.agents) };
}

/** How an agent is made whose model has been shown the tools. */
function connecting({ throughMcp }: Contender, nextTools: () => BenchTool[]) {
  let offered = 0;
  const onTurn = (asked: { offered(): string[] }) => {
    offered = asked.offered().length;
  };
  return async () => {
    offered = 0;
    const running = await throughMcp({ turns, tools: nextTools(), onTurn });
    await running.run();
    if (offered !== TOOLS) throw new Error(`Of ${TOOLS} tools of a server ${offered} were offered.`);
    return running;
  };
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
