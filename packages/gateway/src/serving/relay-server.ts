// The MCP server objects of a gateway: one for each connection, or for each request of the 2026 era.
import { ProtocolError as ServerAnswer } from '@modelcontextprotocol/client';
import {
  type CallToolResult,
  type GetPromptResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { inServedCallSpan, isPublicError, type Logger, publicErrorText, settlesWithin } from '@pocket-agent/kit';
import { FIND_TOOLS } from 'pocket-agent/internal';
import { errorResult, inRun, isContinued, SuspendedCalls, type ToolEntry } from 'pocket-agent/internal/gate';
import { type ResourceService, RunLimit, serveResources } from 'pocket-agent/internal/serve';
import type { CallerSpace } from '../callers/caller-space.ts';
import type { Prices } from '../callers/limits.ts';
import type { GatewayState } from '../callers/state.ts';
import { countCall, gatedCall } from '../calls/gated-call.ts';
import { complete, getPrompt, listPrompts } from '../calls/prompts.ts';
import { GatewayRequest, plainOptions } from '../calls/request.ts';
import { listTemplates, readerOf, resourcesFor, watchResource } from '../calls/resources.ts';
import { CALL_TOOL, calledBy, findFor, toolsInPlace } from '../calls/search.ts';
import { Metrics } from './metrics.ts';
import { ResourceWatchers } from './resource-watchers.ts';

/** Many clients read only the first page. */
const PAGE_SIZE = 1_000;

interface RelayOptions {
  serverInfo: { name: string; version: string };
  state: GatewayState | undefined;
  prices(): Prices;
  logger: Logger;
  spaceOf(context: ServerContext): CallerSpace;
}

interface RequestedTool {
  name: string;
  args: Record<string, unknown>;
}

interface FromClient {
  server: Server;
  context: ServerContext;
}

interface WaitingCaller {
  owner: string;
}

export class RelayServers {
  readonly #options: RelayOptions;
  readonly #calls = new SuspendedCalls<WaitingCaller, CallToolResult>();
  readonly #prompts = new SuspendedCalls<WaitingCaller, GetPromptResult>();
  readonly #reads = new SuspendedCalls<WaitingCaller, ReadResourceResult | undefined>();
  readonly metrics = new Metrics();
  readonly watchers = new ResourceWatchers();
  #drained: PromiseWithResolvers<void> | undefined;
  readonly #limit: RunLimit;
  readonly #shown = new WeakMap<ToolEntry, Tool>();

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#limit = new RunLimit({ name: options.serverInfo.name, unit: 'request' });
  }

  /** Clients can watch single resources over HTTP. */
  make(isHttp: boolean): Server {
    const { serverInfo } = this.#options;
    const changing = { listChanged: true };
    const resources = { ...changing, subscribe: isHttp };
    const capabilities = { tools: changing, resources, prompts: changing, completions: {}, logging: {} };
    const server = new Server(serverInfo, { capabilities });
    this.#relayResources(server);
    this.#relayPrompts(server);
    if (isHttp) this.#relayUpdates(server);
    server.setRequestHandler('tools/list', async ({ params }, context) =>
      this.#listTools(server, context, params?.cursor),
    );
    server.setRequestHandler('tools/call', async ({ params: { name, arguments: args = {} } }, context) =>
      inServedCallSpan({ tool: name, context }, () => this.#callTool({ server, context }, { name, args })),
    );
    return server;
  }

  get isDraining(): boolean {
    return this.#drained !== undefined;
  }

  /** Refuses new calls, and resolves when those in progress have ended. */
  async drain(timeoutMs: number): Promise<void> {
    this.#drained ??= Promise.withResolvers();
    if (this.metrics.active === 0) this.#drained.resolve();
    await settlesWithin(timeoutMs, this.#drained.promise);
  }

  /** Aborts the requests that wait for their clients. */
  close(): void {
    for (const waiting of [this.#calls, this.#prompts, this.#reads]) waiting.drop();
  }

  #relayResources(server: Server): void {
    const { state } = this.#options;
    const service: ResourceService<ServerContext> = {
      list: (context) => this.#within(server, context, (request) => resourcesFor(request).list(readerOf(request))),
      templates: (context) => this.#within(server, context, listTemplates),
      read: (uri, context) =>
        this.#limited(context, () =>
          this.#asking(this.#reads, { server, context }, async (request) => {
            await countCall(request, state);
            return resourcesFor(request).read(uri, readerOf(request));
          }),
        ),
    };
    serveResources(server, service, (context) => context);
  }

  /** In the 2025 era; later clients subscribe by a stream. */
  #relayUpdates(server: Server): void {
    server.onclose = () => this.watchers.drop(server);
    server.setRequestHandler('resources/subscribe', ({ params: { uri } }, context) =>
      this.#askingServers({ server, context }, async ({ space }) => {
        const end = await watchResource(space, uri);
        if (!end) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource ${uri} not found`);
        this.watchers.add(server, uri, { caller: space.caller.name, end });
        return {};
      }),
    );
    server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
      this.watchers.remove(server, uri);
      return {};
    });
  }

  #relayPrompts(server: Server): void {
    const { state } = this.#options;
    server.setRequestHandler('prompts/list', (_request, context) =>
      this.#askingServers({ server, context }, async (request) => ({ prompts: await listPrompts(request) })),
    );
    server.setRequestHandler('prompts/get', ({ params: { name, arguments: args = {} } }, context) =>
      this.#limited(context, () =>
        this.#asking(this.#prompts, { server, context }, async (request) => {
          await countCall(request, state);
          return getPrompt(request, { name, args });
        }),
      ),
    );
    server.setRequestHandler('completion/complete', ({ params: { ref, argument, context: known } }, context) =>
      this.#askingServers({ server, context }, (request) =>
        complete(request, { ref, argument, ...(known ? { context: known } : {}) }),
      ),
    );
  }

  /** Answers a request that asks its client nothing, as its caller. */
  async #within<Answer>(
    server: Server,
    context: ServerContext,
    answer: (request: GatewayRequest) => Promise<Answer>,
  ): Promise<Answer> {
    return answered(new GatewayRequest(this.#options.spaceOf(context), server, plainOptions(context)), answer);
  }

  /** The same for a request that each time goes on to servers. */
  #askingServers<Answer>(
    { server, context }: FromClient,
    answer: (request: GatewayRequest) => Promise<Answer>,
  ): Promise<Answer> {
    return this.#limited(context, () => this.#within(server, context, answer));
  }

  /** Limits the requests of a caller in progress, because servers may answer slowly. */
  async #limited<Answer>(context: ServerContext, answer: () => Promise<Answer>): Promise<Answer> {
    if (isContinued(context)) return answer();
    const caller = this.#options.spaceOf(context).caller.name;
    const refusal = this.#limit.refusal({ caller, isOneOfMany: true });
    if (refusal !== undefined) throw new ProtocolError(ProtocolErrorCode.InternalError, refusal);
    const done = this.#limit.begin({ caller });
    try {
      return await answer();
    } finally {
      done();
    }
  }

  /** Answers a request that may ask its client something first, as its caller. */
  async #asking<Answer>(
    suspended: SuspendedCalls<WaitingCaller, Answer>,
    { server, context }: FromClient,
    answer: (request: GatewayRequest) => Promise<Answer>,
  ): Promise<Answer | InputRequiredResult> {
    const space = this.#options.spaceOf(context);
    const owner = space.caller.name;
    if (!isContinued(context))
      return suspended.start(
        { owner },
        (options) => answered(new GatewayRequest(space, server, options), answer),
        context,
      );
    const result = await suspended.resume(owner, context);
    if (result) return result;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'This request is unknown or expired: send it again');
  }

  #listTools(server: Server, context: ServerContext, cursor: string | undefined) {
    return this.#within(server, context, async ({ space, run }) => {
      const visible = (await space.tools(run, true)).visibleTo(run.policy);
      if (space.expose !== 'direct') return { tools: toolsInPlace(space.expose, visible) };
      return pageOf(visible.entries, cursor, (entry) => this.#shownTool(entry));
    });
  }

  async #callTool(from: FromClient, call: RequestedTool) {
    if (isContinued(from.context)) return this.#startCall(from, call);
    const caller = this.#options.spaceOf(from.context).caller.name;
    const refusal = this.#limit.refusal({ caller, isOneOfMany: true });
    if (refusal !== undefined) return errorResult(refusal);
    if (this.isDraining) return errorResult('The gateway is being stopped: this call was not made. Try again soon.');
    const done = this.#limit.begin({ caller });
    this.metrics.active++;
    try {
      return await this.#startCall(from, call);
    } finally {
      done();
      if (--this.metrics.active === 0) this.#drained?.resolve();
    }
  }

  #startCall(from: FromClient, call: RequestedTool) {
    const { state, prices, logger } = this.#options;
    return this.#asking(this.#calls, from, async (request) => {
      const { space } = request;
      const log = request.log.bind(request);
      space.logs.add(log);
      try {
        if (space.expose !== 'direct' && call.name === FIND_TOOLS) return await findFor(request, call.args);
        const called = space.expose === 'search' && call.name === CALL_TOOL ? calledBy(call.args) : call;
        if (!called) return errorResult(`${CALL_TOOL} takes the name of a tool, and its arguments as an object.`);
        return await gatedCall(request, { ...called, state, prices: prices(), logger, metrics: this.metrics });
      } finally {
        space.logs.delete(log);
      }
    });
  }

  /** A tool as clients see it, under its name here. */
  #shownTool(entry: ToolEntry): Tool {
    const known = this.#shown.get(entry) ?? { ...entry.tool, name: entry.name };
    this.#shown.set(entry, known);
    return known;
  }
}

/** A page after the tool that the cursor names, so that a change between two pages hides and repeats nothing else. */
function pageOf(entries: readonly ToolEntry[], cursor: string | undefined, shown: (entry: ToolEntry) => Tool) {
  const start = cursor === undefined ? 0 : entries.findIndex(({ name }) => name === cursor) + 1;
  if (cursor !== undefined && start === 0)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The list has changed: list the tools again');
  const page = entries.slice(start, start + PAGE_SIZE);
  const last = page.at(-1);
  const isMore = last !== undefined && last !== entries.at(-1);
  return { tools: page.map(shown), ...(isMore ? { nextCursor: last.name } : {}) };
}

async function answered<Answer>(
  request: GatewayRequest,
  answer: (request: GatewayRequest) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await inRun(request.run, () => answer(request));
  } catch (error) {
    throw answerFor(error);
  } finally {
    request.run.finished = true;
  }
}

/** What a client reads of an error: what a server answered, or what callers may know. */
function answerFor(error: unknown): Error {
  if (isPublicError(error)) return error;
  if (error instanceof ServerAnswer) return new ProtocolError(error.code, error.message, error.data);
  const text = publicErrorText(error, 'The request');
  return new ProtocolError(ProtocolErrorCode.InternalError, text);
}
