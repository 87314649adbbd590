// The memory of idle agents.
import { type BenchTool, type Contender, type Effort, type Figures, toolsOf } from '../contenders/contender.ts';

const TOOLS = 10;
const turns = { steps: 0, calls: 0, deltas: 1 };
const shared = toolsOf(TOOLS);

/**
 * Measures new agents, agents after one run (some frameworks do most of their work then), and agents with their own tools,
 * without the descriptions of these tools, which are the same for all contenders.
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
  const descriptions = await kilobytesEach(async () => toolsOf(TOOLS), effort.agents);
  return {
    idle: await kilobytesEach(() => make(), effort.agents),
    idleAsked: await kilobytesEach(makeAndAsk, effort.agents),
    idleOwn: (await kilobytesEach(makeWithOwn, effort.agents)) - descriptions,
  };
}

/** Each agent has its own connection to a server. All servers list the same tools. */
export async function idleMcp(contender: Contender, effort: Effort): Promise<Figures> {
  const make = agentMaker(contender, () => shared);
  return { idleMcp: await kilobytesEach(make, effort.agents) };
}

/** Each agent has its own connection to a server. Every server describes its tools differently. */
export async function idleMcpOwn(contender: Contender, effort: Effort): Promise<Figures> {
  let servers = 0;
  const make = agentMaker(contender, () => toolsOf(TOOLS, ` of server ${++servers}`));
  return { idleMcpOwn: await kilobytesEach(make, effort.agents) };
}

/** Returns a function that makes an agent, which makes one run, so that its model has received the tools. */
function agentMaker({ throughMcp }: Contender, nextTools: () => BenchTool[]) {
  let offered = 0;
  const onTurn = (input: { offered(): string[] }) => {
    offered = input.offered().length;
  };
  return async () => {
    offered = 0;
    const running = await throughMcp({ turns, tools: nextTools(), onTurn });
    await running.run();
    if (offered !== TOOLS) throw new Error(`The model received ${offered} of ${TOOLS} tools.`);
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

export function heapUsed(): number {
  if (!globalThis.gc) throw new Error('Measuring memory needs --expose-gc.');
  for (let round = 0; round < 4; round++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}
