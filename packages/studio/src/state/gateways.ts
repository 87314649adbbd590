// Gateways that run elsewhere, by URL and token: their questions join those of the studio, and their calls can be seen.
import { randomUUID } from 'node:crypto';
import { delay, errorText, isRecord, type Logger, recordsIn } from '@pocket-agent/kit';
import type { Answer, GatewayCalls, GatewayInfo, Question } from '../wire/wire.ts';
import { capabilityIn, type ForeignQuestion, ForeignQuestions } from './foreign-questions.ts';
import type { Questions } from './questions.ts';

/** A gateway to attach to. */
export interface AttachedGateway {
  /** Its address, such as https://tools.example.com/mcp. */
  url: string;
  /** The token of a caller that may approve: `pocket-agent gateway token add NAME --approver`. */
  token: string;
  /** The token of `GET /metrics`. Without it, the studio does not show calls. */
  metricsToken?: string;
}

/** A request for questions is answered after this time at the latest. */
const WAIT_S = 25;
const TIMEOUT_MS = 40_000;
const RETRY_MS = 2_000;
const MAX_ANSWER = 10_000_000;

export class Gateways {
  readonly #gateways: readonly Gateway[];

  constructor(gateways: readonly AttachedGateway[], questions: Questions, logger: Logger) {
    this.#gateways = gateways.map((each) => new Gateway(each, questions, logger));
  }

  /** Shows the questions of the gateways until `close()`. */
  start(): void {
    for (const gateway of this.#gateways) void gateway.follow();
  }

  list(): Promise<GatewayInfo[]> {
    return Promise.all(this.#gateways.map((gateway) => gateway.info()));
  }

  close(): void {
    for (const gateway of this.#gateways) gateway.close();
  }
}

class Gateway {
  readonly #options: AttachedGateway;
  readonly #name: string;
  readonly #questions: ForeignQuestions;
  readonly #logger: Logger;
  readonly #closing = new AbortController();
  #problem = '';

  constructor(options: AttachedGateway, questions: Questions, logger: Logger) {
    this.#options = options;
    this.#name = new URL(options.url).host;
    this.#questions = new ForeignQuestions(questions, (error) =>
      logger.warn(`The answer to the gateway ${this.#name} was refused: ${errorText(error)}`),
    );
    this.#logger = logger;
  }

  async follow(): Promise<void> {
    const { signal } = this.#closing;
    for (let known = ''; !signal.aborted; ) {
      try {
        const answer = await this.#read(`approvals?wait=${WAIT_S}&known=${encodeURIComponent(known)}`);
        const { version, questions }: Record<string, unknown> = JSON.parse(answer);
        known = String(version);
        this.#questions.replace(recordsIn(questions).map((asked) => this.#foreign(asked)));
        this.#problem = '';
      } catch (error) {
        if (signal.aborted) return;
        known = '';
        const problem = errorText(error);
        if (problem !== this.#problem)
          this.#logger.warn(`The questions of the gateway ${this.#name} cannot be read: ${problem}`);
        this.#problem = problem;
        await delay(RETRY_MS, signal).catch(() => {}); // closed
      }
    }
  }

  async info(): Promise<GatewayInfo> {
    const { metricsToken } = this.#options;
    const known = { name: this.#name, waiting: this.#questions.size, problem: this.#problem };
    if (metricsToken === undefined) return { ...known, servers: undefined };
    try {
      return { ...known, servers: readMetrics(await this.#read('metrics', metricsToken)) };
    } catch (error) {
      return { ...known, problem: this.#problem || errorText(error), servers: undefined };
    }
  }

  close(): void {
    this.#closing.abort(new Error('The studio was closed.'));
    this.#questions.close();
  }

  #foreign(asked: Record<string, unknown>): ForeignQuestion {
    const id = String(asked.id);
    return {
      id,
      question: shownQuestion(this.#name, asked),
      answer: async (given) => 'action' in given || this.#answer(id, given, asked.hash),
    };
  }

  async #answer(id: string, answer: Answer, hash: unknown): Promise<void> {
    // a gateway remembers only calls with the arguments that it has seen
    const given = 'allow' in answer && answer.allow !== true ? { allow: answer.allow } : answer;
    await this.#read(`approvals/${encodeURIComponent(id)}`, this.#options.token, { ...given, hash });
  }

  async #read(path: string, token = this.#options.token, body?: object): Promise<string> {
    const base = this.#options.url.replace(/\/(mcp)?\/?$/, '');
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(`${base}/${path}`, {
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      redirect: 'error',
      signal,
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    });
    const text = (await response.text()).slice(0, MAX_ANSWER);
    if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 200)}`);
    return text;
  }
}

function shownQuestion(gateway: string, asked: Record<string, unknown>): Question {
  const { id, caller, tool, server, capability, description, arguments: args, changed, askedAt } = asked;
  return {
    ...{ kind: 'approval', id: randomUUID(), chatId: '', gateway, askedAt: Number(new Date(String(askedAt))) },
    ...{ tool: String(tool), capability: capabilityIn(capability) },
    ...{ arguments: isRecord(args) ? args : {}, toolCallId: String(id), path: [String(caller)] },
    changed: changed === true,
    ...(typeof server === 'string' ? { server } : {}),
    ...(typeof description === 'string' ? { description } : {}),
  };
}

/** What a gateway tells Prometheus, by server. */
function readMetrics(text: string): GatewayCalls[] {
  const servers = new Map<string, GatewayCalls & { seconds: number; count: number }>();
  for (const line of text.split('\n')) {
    const [, name = '', labels = '', value] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
    const label = (key: string) => new RegExp(`(?:^|,)${key}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const server = label('server');
    if (!server) continue;
    const known = servers.get(server) ?? {
      ...{ server, isUp: true, calls: 0, failed: 0, denied: 0, meanMs: 0, seconds: 0, count: 0 },
    };
    servers.set(server, known);
    const number = Number(value);
    if (name === 'gateway_server_up') known.isUp = number === 1;
    else if (name === 'gateway_call_seconds_sum') known.seconds = number;
    else if (name === 'gateway_call_seconds_count') known.count = number;
    else if (name === 'gateway_calls_total') {
      known.calls += number;
      if (['refused', 'denied'].includes(label('decision'))) known.denied += number;
      else if (label('outcome') === 'error') known.failed += number;
    }
  }
  return [...servers.values()].map(({ seconds, count, ...rest }) => ({
    ...rest,
    meanMs: count > 0 ? (1_000 * seconds) / count : 0,
  }));
}
