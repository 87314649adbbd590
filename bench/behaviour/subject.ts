// The interface of a framework under test, which opens an agent with MCP servers.
import type { Endpoint } from '../contenders/contender.ts';
import type { ModelInput, Script, Turn } from '../contenders/script.ts';

export interface SubjectOptions {
  servers: Record<string, Endpoint>;
  /** The answer when a server asks for a name. */
  name: string;
  /** W3C trace context for the calls. */
  traceparent: string;
  /** The model searches its tools, and may not use this one. */
  refused?: string;
  /** Every call needs an approval, which is denied for this tool. */
  denied?: { tool: string; asked(tool: string): void };
}

export interface Session {
  /** Makes a run with an empty history. Lists the tools first if the framework finds new tools only that way. */
  run(script: Script, signal?: AbortSignal): Promise<unknown>;
  close(): Promise<unknown>;
}

export interface Subject {
  open(options: SubjectOptions): Promise<Session>;
  /** The steps that search for a tool and call it. Undefined without a search that works with every model. */
  search?(query: string, tool: string): WantedCall[][];
  /** A call of code that calls the tool and catches its error. Undefined without code mode, or if it is not run. */
  inCode?(tool: string): WantedCall;
}

export interface WantedCall {
  tool: string;
  args?: Record<string, unknown>;
}

/** A scripted conversation: calls, then an answer. Records what the model receives. */
export class Conversation implements Script {
  offered: string[] = [];
  /** The tools of the first step. */
  offeredFirst: string[] | undefined;
  results: [id: string, text: string][] = [];
  readonly #turns: WantedCall[][];
  #ids = 0;

  constructor(...turns: WantedCall[][]) {
    this.#turns = turns;
  }

  /** Finds tools also if the framework prefixes their names with the server name. */
  next(input: ModelInput): Turn {
    this.offered = input.offered();
    this.offeredFirst ??= this.offered;
    this.results = input.results();
    const turn = this.#turns.shift();
    if (!turn) return { calls: [], deltas: ['done'] };
    const calls = turn.map(({ tool, args = {} }) => {
      const name = this.offered.find((offered) => offered === tool || new RegExp(`[^a-z]${tool}$`).test(offered));
      if (!name) throw new Error(`There is no tool ${tool}. Offered: ${this.offered.join(', ') || 'none'}.`);
      return { id: `call-${++this.#ids}`, name, arguments: JSON.stringify(args) };
    });
    return { calls, deltas: [] };
  }

  /** The text of all tool results. */
  get text(): string {
    return this.results.map(([, text]) => text).join('\n');
  }
}
