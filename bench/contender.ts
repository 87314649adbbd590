// What every contender offers, so that all of them do the same work.
import type { Asked } from './script.ts';

/** What the model of a run does: so many steps with so many tool calls each, then an answer in so many deltas. */
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
  /** Called whenever the model is asked. */
  onTurn?: ((asked: Asked) => void) | undefined;
}

/** One agent, ready for runs that begin with an empty history. */
export interface Running {
  run(): Promise<string>;
  /** Resolves with the number of deltas that were seen. */
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
 * Who lacks one of these is left out of the works that need it. What is for MCP is imported when it is asked for: an
 * import with a first answer is measured too.
 */
export interface Contender {
  /** An agent with tools of this process. */
  inProcess(job: Job): Running | Promise<Running>;
  /** The same with the tools behind an MCP server of this process. */
  throughMcp(job: Job): Promise<Running>;
  /** The tool `add` of an MCP server elsewhere. */
  connect(endpoint: Endpoint): Promise<Connection>;
}

/** How long a child measures, and how much of what takes memory it makes. */
export interface Effort {
  warmMs: number;
  /** At least so many runs before anything is measured, in up to four times that time. */
  warmRuns?: number;
  measureMs: number;
  /** Parts of that time, whose median counts: what comes between hits one of them. */
  moments: number;
  /** Idle agents to make. */
  agents: number;
  /** Agents in the registry that is searched. */
  registered: number;
  /** Cold starts. */
  starts: number;
}

/** A server that all contenders of a round call. */
export interface SharedServer {
  url: string;
  /** Resolves with how it ended. */
  ended: Promise<string>;
  end(): void;
}

/** One number per figure of a work. */
export type Figures = Record<string, number>;

/** How often `add` was called: a contender that calls nothing would be quick. */
export const adding = { calls: 0 };

export const add: BenchTool = {
  name: 'add',
  description: 'Adds two numbers',
  run(a, b) {
    adding.calls++;
    return String(a + b);
  },
};

/** The revision of MCP that was spoken with a server of this process. */
export const spoken: { revision?: string } = {};

/** What is made of a tool, once: agents with the same tools share it. */
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

/** `add`, and as many others that nobody calls; those of one server may be described otherwise than those of the next. */
export function toolsOf(count: number, server = ''): BenchTool[] {
  const others = Array.from({ length: count - 1 }, (_, index) => ({
    name: `other_${index}`,
    description: `Does the ${index}th other thing with two numbers${server}`,
    run: () => 'done',
  }));
  return [{ ...add, description: `${add.description}${server}` }, ...others];
}
