// The interface of a framework under test: an agent with MCP servers.
import type { Endpoint } from '../contenders/contender.ts';
import type { Asked, Script, Turn } from '../contenders/script.ts';

export interface SubjectOptions {
  servers: Record<string, Endpoint>;
  /** The answer when a server asks for a name. */
  name: string;
  /** W3C trace context for the calls. */
  traceparent: string;
  /** Tools are found by a search, except for this one, which may not be used. */
  refused?: string;
  /** Every call needs an approval. The person who is asked denies this tool. */
  denied?: { tool: string; asked(tool: string): void };
}

export interface Session {
  /** A run with an empty history; lists the tools first if the framework sees new tools only that way. */
  run(script: Script, signal?: AbortSignal): Promise<unknown>;
  close(): Promise<unknown>;
}

export interface Subject {
  open(options: SubjectOptions): Promise<Session>;
  /** The steps that search for a tool and call it. Undefined if the framework has no search that works with every model. */
  search?(query: string, tool: string): WantedCall[][];
  /** The call of code that calls the tool, and continues if that fails. Undefined if the framework has no such code, or was not tried. */
  inCode?(tool: string): WantedCall;
}

export interface WantedCall {
  tool: string;
  args?: Record<string, unknown>;
}

/** A scripted conversation: calls, then an answer. Records what the model receives. */
export class Conversation implements Script {
  offered: string[] = [];
  /** At the first step. */
  offeredFirst: string[] | undefined;
  results: [id: string, text: string][] = [];
  readonly #turns: WantedCall[][];
  #ids = 0;

  constructor(...turns: WantedCall[][]) {
    this.#turns = turns;
  }

  /** Some frameworks prefix tool names with the name of the server. */
  next(asked: Asked): Turn {
    this.offered = asked.offered();
    this.offeredFirst ??= this.offered;
    this.results = asked.results();
    const turn = this.#turns.shift();
    if (!turn) return { calls: [], deltas: ['done'] };
    const calls = turn.map(({ tool, args = {} }) => {
      const name = this.offered.find((offered) => offered === tool || new RegExp(`[^a-z]${tool}$`).test(offered));
      if (!name) throw new Error(`There is no tool ${tool}. Offered: ${this.offered.join(', ') || 'none'}.`);
      return { id: `call-${++this.#ids}`, name, arguments: JSON.stringify(args) };
    });
    return { calls, deltas: [] };
  }

  /** All tool results. */
  get text(): string {
    return this.results.map(([, text]) => text).join('\n');
  }
}
