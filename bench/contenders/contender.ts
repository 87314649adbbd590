// The interface of a contender. All contenders do the same work.
import type { ModelInput } from './script.ts';

/** What the model does in a run: the number of steps, of tool calls per step, and of deltas in the answer. */
export interface Turns {
  steps: number;
  calls: number;
  deltas: number;
}

/** Every tool takes two numbers, `a` and `b`. */
export interface BenchTool {
  name: string;
  description: string;
  run(a: number, b: number): string | Promise<string>;
}

/** What a contender makes an agent for. */
export interface Job {
  turns: Turns;
  tools: readonly BenchTool[];
  /** How long each model call takes. Default: no time. */
  latencyMs?: number;
  /** Called at each model call. */
  onTurn?: ((asked: ModelInput) => void) | undefined;
}

/** An agent. Each run starts with an empty history. */
export interface BenchAgent {
  run(): Promise<string>;
  /** Resolves with the number of received deltas. */
  stream(): Promise<number>;
  close?(): Promise<void>;
}

export type Endpoint = { command: string; args: string[] } | { url: string };

/** Tools of an MCP server, called without a model. */
export interface Connection {
  call(a: number, b: number): Promise<string>;
  close(): Promise<void>;
}

/**
 * A contender without a method does not take part in workloads that need it. MCP code is imported on first use, because the
 * import and the first answer are measured, too.
 */
export interface Contender {
  /** An agent with tools in this process. */
  inProcess(job: Job): BenchAgent | Promise<BenchAgent>;
  /** The same with tools of an MCP server in this process. */
  throughMcp(job: Job): Promise<BenchAgent>;
  /** The tool `add` of an MCP server in another process. */
  connect(endpoint: Endpoint): Promise<Connection>;
}

/** How long a child process measures, and how many objects it creates. */
export interface Effort {
  warmMs: number;
  /** The minimum number of warm-up runs, which may take up to twice `warmMs`. */
  warmRuns?: number;
  measureMs: number;
  /** How many parts that time has. The median of the parts is used, so that a disturbance affects only one. */
  moments: number;
  /** Number of idle agents. */
  agents: number;
  /** Number of agents in the registry. */
  registered: number;
  /** Number of cold starts. */
  starts: number;
}

/** A server that all contenders of a round call. */
export interface SharedServer {
  url: string;
  /** Resolves with the reason when the server has ended. */
  ended: Promise<string>;
  end(): void;
}

/** One number for each figure of a workload. */
export type Figures = Record<string, number>;

/** Counts the calls of `add`, to notice contenders that make too few. */
export const addCalls = { count: 0 };

export const add: BenchTool = {
  name: 'add',
  description: 'Adds two numbers',
  run(a, b) {
    addCalls.count++;
    return String(a + b);
  },
};

/** The MCP revision used with a server in this process. */
export const negotiated: { revision?: string } = {};

/** Creates each tool once, so that agents with the same tools share it. */
export function oncePerTool<Made extends object>(make: (entry: BenchTool) => Made): (entry: BenchTool) => Made {
  const kept = new WeakMap<BenchTool, Made>();
  return (entry) => {
    const made = kept.get(entry) ?? make(entry);
    kept.set(entry, made);
    return made;
  };
}

export function textOfResult(result: unknown): string {
  const { content } = result as { content: { type: string; text?: string }[] };
  return content.map((block) => block.text ?? '').join('');
}

/** `add` and unused tools. `server` makes their descriptions differ from server to server. */
export function toolsOf(count: number, server = ''): BenchTool[] {
  const others = Array.from({ length: count - 1 }, (_, index) => ({
    name: `other_${index}`,
    description: `Does the ${index}th other thing with two numbers${server}`,
    run: () => 'done',
  }));
  return [{ ...add, description: `${add.description}${server}` }, ...others];
}
