// What is put to the test: an agent with MCP servers, whoever made it.
import type { Endpoint } from '../contender.ts';
import type { Asked, Script, Turn } from '../script.ts';

export interface SubjectOptions {
  servers: Record<string, Endpoint>;
  /** The name that is given when a server asks for one. */
  name: string;
  /** W3C trace context for the calls. */
  traceparent: string;
}

export interface Session {
  /** A run from an empty history; tools are listed again before it where that is the way to see new ones. */
  run(script: Script, signal?: AbortSignal): Promise<unknown>;
  close(): Promise<unknown>;
}

export interface Subject {
  open(options: SubjectOptions): Promise<Session>;
}

export interface WantedCall {
  tool: string;
  args?: Record<string, unknown>;
}

/** Calls in turns and then an answer; it keeps what the model was shown. */
export class Conversation implements Script {
  offered: string[] = [];
  results: [id: string, text: string][] = [];
  readonly #turns: WantedCall[][];
  #ids = 0;

  constructor(...turns: WantedCall[][]) {
    this.#turns = turns;
  }

  /** Names may be longer than the tool's: some put that of the server before it. */
  next(asked: Asked): Turn {
    this.offered = asked.offered();
    this.results = asked.results();
    const turn = this.#turns.shift();
    if (!turn) return { calls: [], deltas: ['done'] };
    const calls = turn.map(({ tool, args = {} }) => {
      const name = this.offered.find((offered) => offered === tool || new RegExp(`[^a-z]${tool}$`).test(offered));
      if (!name) throw new Error(`There is no tool ${tool} among ${this.offered.join(', ') || 'none'}.`);
      return { id: `call-${++this.#ids}`, name, arguments: JSON.stringify(args) };
    });
    return { calls, deltas: [] };
  }

  /** All that the tools answered. */
  get text(): string {
    return this.results.map(([, text]) => text).join('\n');
  }
}
