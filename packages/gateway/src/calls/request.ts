// One request of a client of the gateway: its caller, and the ways back to the client.
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type CreateMessageResult,
  type InputRequest,
  type Root,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { ownMeta } from '@pocket-agent/http/mcp';
import { isRecord } from '@pocket-agent/kit';
import type { ServerLog } from 'pocket-agent';
import { APPROVAL_META_KEY } from 'pocket-agent/internal';
import {
  askedClient,
  type CallOptions,
  clientCapabilities,
  currentRun,
  type ElicitationHandler,
  type QuestionOrigin,
  type RunContext,
} from 'pocket-agent/internal/gate';
import type { CallerSpace } from '../callers/caller-space.ts';

/** What servers may ask a client, if the client supports it. */
const RELAYED = ['elicitation', 'sampling', 'roots'];

/** Requests in progress, by the context of their run. */
const requests = new WeakMap<object, GatewayRequest>();

export class GatewayRequest {
  readonly space: CallerSpace;
  readonly run: RunContext;
  /** The id of the client's own tool call; tools may make others inside it. */
  callId: string | undefined;
  /** What the server answered to that call. */
  answer: CallToolResult | undefined;
  readonly #options: CallOptions;
  readonly #canAsk: Record<string, unknown>;

  constructor(space: CallerSpace, server: Server, options: CallOptions) {
    this.space = space;
    this.#options = options;
    this.#canAsk = clientCapabilities(server, options.context());
    const canElicit = 'elicitation' in this.#canAsk;
    this.run = space.context({
      signal: options.signal,
      approve: space.approver(canElicit ? askedClient(options.ask) : undefined),
      elicit: canElicit ? this.#elicit : undefined,
    });
    requests.set(this.run.shared, this);
  }

  /** The request that the current code belongs to. */
  static get current(): GatewayRequest | undefined {
    const run = currentRun();
    return run && requests.get(run.shared);
  }

  /**
   * What a server may know of the client's `_meta`: trace context and values of its own, not those of the connection.
   * Servers of the 2026 era are also told what they may ask.
   */
  get meta(): Record<string, unknown> {
    const canAsk = RELAYED.flatMap((name) => (name in this.#canAsk ? [[name, this.#canAsk[name]]] : []));
    const own = ownMeta(this.#options.context().mcpReq._meta);
    return { ...own, [CLIENT_CAPABILITIES_META_KEY]: Object.fromEntries(canAsk) };
  }

  progress(update: { progress: number; total?: number; message?: string }): void {
    const { _meta: meta, notify } = this.#options.context().mcpReq;
    const progressToken = meta?.progressToken;
    if (progressToken === undefined) return;
    const { progress, total, message } = update;
    const params = {
      progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    };
    notify({ method: 'notifications/progress', params }).catch(() => {}); // the client may be gone
  }

  log({ server, level, data, logger }: ServerLog): void {
    const name = logger === undefined ? server : `${server} ${logger}`;
    this.#options
      .context()
      .mcpReq.log(level, data, name)
      .catch(() => {}); // the client may be gone
  }

  /** A model call that a server asks for is made by the client. */
  async sample(params: object, { signal, name = 'sample' }: QuestionOrigin): Promise<CreateMessageResult> {
    if (!('sampling' in this.#canAsk)) throw new Error('The client makes no model calls for servers.');
    const question = { method: 'sampling/createMessage', params } as InputRequest;
    const answer = await this.#options.ask(question, { signal, name });
    if (!isRecord(answer)) throw new Error('The client did not answer.');
    return answer as unknown as CreateMessageResult; // the server checks it
  }

  /** The folders of the client. */
  async roots({ signal, name = 'roots' }: QuestionOrigin): Promise<readonly Root[]> {
    if (!('roots' in this.#canAsk)) return [];
    const answer = await this.#options.ask({ method: 'roots/list', params: {} }, { signal, name });
    return isRecord(answer) && Array.isArray(answer.roots) ? answer.roots : [];
  }

  readonly #elicit: ElicitationHandler = async (given, { server, signal, name = 'question' }) => {
    const params = asQuestion(server, given);
    const { elicitation } = this.#canAsk;
    const isUrl = 'mode' in params && params.mode === 'url';
    if (isUrl && !(isRecord(elicitation) && 'url' in elicitation)) return { action: 'cancel' };
    const answer = await this.#options.ask({ method: 'elicitation/create', params }, { signal, name });
    if (!isRecord(answer) || !isAction(answer.action)) return { action: 'cancel' };
    const { action, content } = answer;
    return { action, ...(isRecord(content) ? { content: content as Record<string, string> } : {}) };
  };
}

/** Names the server, so that the question does not look like one of the gateway. */
function asQuestion<Params extends { message: string; _meta?: Record<string, unknown> | undefined }>(
  server: string,
  { _meta: meta = {}, ...params }: Params,
): Params {
  const { [APPROVAL_META_KEY]: _approval, ...others } = meta;
  return { ...params, _meta: others, message: `[${server}] ${params.message}` } as Params;
}

function isAction(value: unknown): value is 'accept' | 'decline' | 'cancel' {
  return value === 'accept' || value === 'decline' || value === 'cancel';
}

/** For a request that puts no questions to its client. */
export function plainOptions(context: ServerContext): CallOptions {
  const ask = () => Promise.reject(new Error('This request cannot be interrupted by a question.'));
  return { signal: context.mcpReq.signal, ask, context: () => context };
}
