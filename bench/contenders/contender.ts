// The interface of every contender, so that all do the same work.
import type { Asked } from './script.ts';

/** What the model does in a run: a number of steps, tool calls per step, and deltas of the answer. */
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

export interface Job {
  turns: Turns;
  tools: readonly BenchTool[];
  /** How long every model call takes. Default: no time. */
  latencyMs?: number;
  /** Called for every model call. */
  onTurn?: ((asked: Asked) => void) | undefined;
}

/** One agent. Each run starts with an empty history. */
export interface Running {
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
 * A contender that lacks a method takes no part in the work that needs it. MCP code is imported on first use, because the
 * import and the first answer are measured as well.
 */
export interface Contender {
  /** An agent with tools in this process. */
  inProcess(job: Job): Running | Promise<Running>;
  /** The same with tools of an MCP server in this process. */
  throughMcp(job: Job): Promise<Running>;
  /** The tool `add` of an MCP server in another process. */
  connect(endpoint: Endpoint): Promise<Connection>;
}

/** How long a child process measures, and how many objects it creates. */
export interface Effort {
  warmMs: number;
  /** Minimum number of warm-up runs, in up to twice `warmMs`. */
  warmRuns?: number;
  measureMs: number;
  /** Number of parts of that time; their median counts, so that a disturbance affects only one. */
  moments: number;
  /** Idle agents to make. */
  agents: number;
  /** Agents in the registry. */
  registered: number;
  /** Cold starts. */
  starts: number;
}

/** A server that all contenders of a round call. */
export interface SharedServer {
  url: string;
  /** Resolves with the reason when it has ended. */
  ended: Promise<string>;
  end(): void;
}

/** One number for each figure of a work. */
export type Figures = Record<string, number>;

/** Counts the calls of `add`, to notice a contender that makes none. */
export const adding = { calls: 0 };

export const add: BenchTool = {
  name: 'add',
  description: 'Adds two numbers',
  run(a, b) {
    adding.calls++;
    return String(a + b);
  },
};

/** The MCP revision used with a server in this process. */
export const spoken: { revision?: string } = {};

/** Creates each tool once: agents with the same tools share it. */
export function keptFor<Made extends object>(make: (entry: BenchTool) => Made): (entry: BenchTool) => Made {
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

/** `add` and unused tools; the descriptions may differ from server to server. */
export function toolsOf(count: number, server = ''): BenchTool[] {
  const others = Array.from({ length: count - 1 }, (_, index) => ({
    name: `other_${index}`,
    description: `Does the ${index}th other thing with two numbers${server}`,
    run: () => 'done',
  }));
  return [{ ...add, description: `${add.description}${server}` }, ...others];
}
