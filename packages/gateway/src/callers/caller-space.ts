// What one caller of a gateway sees: the servers it may use, their tools, its rules and its remembered approvals.
import { errorText, type Logger, neverAborted } from '@pocket-agent/kit';
import type { AccessOptions, ServerLog, ToolSource } from 'pocket-agent';
import {
  AccessRules,
  type Approve,
  Budget,
  type ElicitationHandler,
  inRun,
  NO_METADATA,
  Policy,
  type RunAgent,
  type RunContext,
  Toolbox,
  type ToolTable,
} from 'pocket-agent/internal/gate';
import type { Caller } from './caller.ts';
import type { GatewayServer } from './server.ts';

interface SpaceOptions {
  agent: RunAgent;
  caller: Caller;
  servers: readonly GatewayServer[];
  /** The source of `run_code`, for callers who run code. */
  codeMode: ToolSource | undefined;
  access: AccessOptions;
  logger: Logger;
  approvers: Approvers;
  /** The space of this caller under other settings: its versions of tools stay known. */
  before?: CallerSpace | undefined;
}

/** People besides the users of clients. */
export interface Approvers {
  /** Undefined if only the client can ask its user. */
  of(caller: string): Approve | undefined;
  /** They are asked also where a client can ask its user. */
  always: boolean;
}

interface RequestOptions {
  signal: AbortSignal;
  approve?: Approve | undefined;
  elicit?: ElicitationHandler | undefined;
}

const NONE: ReadonlySet<string> = new Set();

export class CallerSpace {
  readonly caller: Caller;
  readonly servers: readonly GatewayServer[];
  readonly rules: AccessRules;
  lastUsed = Date.now();
  version = 0;
  /** Listeners for what servers log during calls, the newest last. */
  readonly logs = new Set<(log: ServerLog) => void>();
  readonly #people: Approve | undefined;
  readonly #asksPeopleAlways: boolean;
  readonly #agent: RunAgent;
  readonly #logger: Logger;
  readonly #toolbox: Toolbox;
  /** The names of the tools that a list leaves out. */
  readonly #hidden = new WeakMap<ToolTable, ReadonlySet<string>>();

  constructor({ agent, caller, servers, codeMode, access, logger, approvers, before }: SpaceOptions) {
    this.caller = caller;
    this.servers = servers;
    // of this caller only: a question for one agent is never put to another
    this.#agent = { ...agent };
    this.#logger = logger;
    // of this caller only: it knows its own versions of tools, and its approvals count only here
    const approverOption = 'approvals';
    this.rules = new AccessRules(
      { ...access, profile: caller.profile },
      { logger, approverOption, forkOf: before?.rules },
    );
    this.#people = approvers.of(caller.name);
    this.#asksPeopleAlways = approvers.always;
    const { expose } = caller.settings;
    this.#toolbox = new Toolbox(expose === 'code' && codeMode ? [...servers, codeMode] : servers);
  }

  /** How tools are offered to its clients. */
  get expose(): 'direct' | 'search' | 'code' {
    return this.caller.settings.expose ?? 'direct';
  }

  /** The context of one request: its calls are made for this caller. */
  context({ signal, approve, elicit }: RequestOptions): RunContext {
    const { name } = this.#agent;
    const path = [name];
    return {
      agent: this.#agent,
      parent: undefined,
      path,
      pathKey: name,
      signal,
      budget: new Budget({ name }),
      prices: {},
      policy: new Policy({
        rules: this.rules,
        parent: undefined,
        path,
        profiles: [],
        approve,
        approveFallback: undefined,
        caller: this.caller.name,
      }),
      content: undefined,
      elicit,
      asking: undefined,
      listener: undefined,
      modelListener: undefined,
      streaming: false,
      traceparent: undefined,
      output: undefined,
      metadata: NO_METADATA,
      toolCallId: undefined,
      shared: { steps: 0 },
      open: 0,
      onAllClosed: undefined,
      finished: false,
    };
  }

  /** Who approves a call: the user of the client, if the client can ask, or else other people. */
  approver(user: Approve | undefined): Approve | undefined {
    return this.#asksPeopleAlways ? this.#people : (user ?? this.#people);
  }

  /** The tools as they were collected last; undefined if a source has changed since. */
  known(): ToolTable | undefined {
    return this.#toolbox.table();
  }

  /** All tools of its servers. `retry`: servers that are unavailable are tried first. */
  async tools(context: RunContext, retry: boolean): Promise<ToolTable> {
    return inRun(context, async () => this.#toolbox.table(retry) ?? (await this.collect(context.signal)));
  }

  collect(signal: AbortSignal): Promise<ToolTable> {
    const { fingerprints } = this.rules;
    return this.#toolbox.collect({
      renamed: ({ source, ownName, toolName }) =>
        this.#logger.warn(`Tool "${ownName}" of ${source} is called "${toolName}".`),
      beforeUse: async (table) => {
        await fingerprints.prepare(table);
        const changed = fingerprints.remember(table).length;
        if (changed > 0) this.#logger.warn(`${changed} tools have changed since "${this.caller.name}" first saw them.`);
      },
      signal,
      wait: 'ready',
    });
  }

  /** The names of tools that this caller may not know of. */
  hiddenIn(all: ToolTable, visible: ToolTable): ReadonlySet<string> {
    if (all === visible) return NONE;
    const known = this.#hidden.get(visible);
    if (known) return known;
    const names = all.entries.flatMap(({ name }) => (visible.find(name) ? [] : [name]));
    const hidden = new Set(names);
    this.#hidden.set(visible, hidden);
    return hidden;
  }

  /** Retries servers that are unavailable, when it is time. Returns whether the list of tools may have changed. */
  refresh(): boolean {
    const before = this.#toolbox.lastTable;
    if (!before) return false;
    return inRun(this.context({ signal: neverAborted() }), () => this.#toolbox.table() === undefined);
  }

  async close(): Promise<void> {
    await this.rules.close().catch((error) => this.#logger.error(`The audit file: ${errorText(error)}`));
  }
}
