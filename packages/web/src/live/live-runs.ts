// The runs of a handler by caller and conversation. A caller reaches only its own.
import { errorText, isPublicError } from '@pocket-agent/kit';
import type { Message, PocketAgent, RunOptions, UserInput } from 'pocket-agent';
import { servedApproval } from 'pocket-agent/internal';
import { ConversationMemory, Conversations, MAX_ID_LENGTH, RunLimit } from 'pocket-agent/internal/serve';
import { problem, type WebCaller } from './caller.ts';
import { type Encoder, LiveRun } from './live-run.ts';
import { DEFAULT_ABANDON_MS, type WebOptions } from './options.ts';
import { firstTurns, removeLaterTurns, showsTurns } from './turns.ts';

/** How long the whole answer of a run that has ended can be read again. */
const KEEP_MS = 60_000;

export interface ConversationOf {
  caller: WebCaller;
  id: string;
}

interface TurnRequest extends ConversationOf {
  input: string | UserInput;
  /** Set if the page repeats or changes an earlier question: its questions before that one. */
  repeats: readonly string[] | undefined;
  traceparent: string | undefined;
  /** `before`: the messages of the conversation before this turn. */
  makeEncoder(emit: (event: object) => void, before: readonly Message[]): Encoder;
}

export const ANSWERING = 'This conversation is still being answered.';
export const NOT_SAVED = 'The page does not show the saved messages of this conversation: load them first.';

export class LiveRuns {
  readonly #agent: PocketAgent<unknown>;
  readonly #options: WebOptions;
  readonly #conversations: Conversations;
  readonly #limit: RunLimit;
  readonly #runs = new Map<string, LiveRun>();
  #isClosed = false;

  constructor(agent: PocketAgent<unknown>, options: WebOptions) {
    this.#agent = agent;
    this.#options = options;
    const { maxRuns, maxRunsPerCaller, maxConversations = 1_000, maxMemoryBytes, conversations: store } = options;
    this.#limit = new RunLimit({ name: agent.name, maxRuns, maxRunsPerCaller });
    this.#conversations = new Conversations({
      name: agent.name,
      store,
      maxConversations,
      memory: new ConversationMemory(maxMemoryBytes),
      outputSchema: agent.outputSchema,
      make: () => agent.fork(),
      onError: (error) => agent.logger.debug(`A conversation of ${agent.name}: ${errorText(error)}`),
    });
    agent.closeTogether(this);
  }

  /** The run that the conversation has, or that has just ended. */
  find(of: ConversationOf): LiveRun | undefined {
    return this.#runs.get(keyOf(of));
  }

  /** Answers a question of the user, or returns the response that refuses it. */
  async startTurn(request: TurnRequest): Promise<LiveRun | Response> {
    const { repeats } = request;
    const previous = this.find(request);
    // an open question is cancelled when the user writes another message
    if (previous?.isWaiting || (previous && !previous.isOver && !previous.isFollowed))
      await previous.stop('The user wrote another message.');
    else if (previous && !previous.isOver) return problem(409, ANSWERING);
    const refusal = this.#refusal(request);
    if (refusal !== undefined) return problem(429, refusal);
    const messages = (await this.read(request, (agent) => [...agent.messages])) ?? [];
    if (repeats && !showsTurns(messages, repeats)) return problem(409, NOT_SAVED);
    // requests at the same time: each finds what the ones before it have started
    if (this.find(request) !== previous) return problem(409, ANSWERING);
    const lateRefusal = this.#refusal(request);
    if (lateRefusal !== undefined) return problem(429, lateRefusal);
    return this.#start(request, messages);
  }

  /** Why a run cannot be started. */
  #refusal({ caller, id }: ConversationOf): string | undefined {
    if (this.#isClosed) return `${this.#agent.name} is shutting down.`;
    if (id.length > MAX_ID_LENGTH) return `The id of a conversation must have at most ${MAX_ID_LENGTH} characters.`;
    return this.#limit.refusal({ caller: caller.id, isOneOfMany: true });
  }

  #start(request: TurnRequest, messages: readonly Message[]): LiveRun {
    const { caller, id, input, repeats, traceparent } = request;
    const { abandonMs = DEFAULT_ABANDON_MS, approvals, timeoutMs } = this.#options;
    const key = keyOf(request);
    const before = repeats ? firstTurns(messages, repeats.length) : messages;
    const live = new LiveRun((emit) => request.makeEncoder(emit, before), abandonMs);
    const done = this.#limit.begin({ caller: caller.id });
    this.#runs.set(key, live);
    live.start((run) =>
      this.#conversations
        .use({ owner: caller.id, id }, async (agent) => {
          if (repeats) removeLaterTurns(agent as PocketAgent<unknown>, repeats.length);
          const options: RunOptions = {
            signal: run.signal,
            onEvent: run.onEvent,
            caller: caller.id,
            ...servedApproval(approvals, run.approve),
            ...(approvals === 'own' ? {} : { elicit: run.elicit }),
            ...(timeoutMs === undefined ? {} : { timeoutMs }),
            ...(caller.profile === undefined ? {} : { profile: caller.profile }),
            ...(caller.metadata === undefined ? {} : { metadata: caller.metadata }),
            ...(traceparent ? { traceparent } : {}),
          };
          return agent.run(input, options);
        })
        .catch((error: unknown) => {
          if (!run.signal.aborted && !isPublicError(error))
            this.#agent.logger.error(`A run of ${this.#agent.name} for a page failed: ${errorText(error)}`);
          throw error;
        })
        .finally(done),
    );
    void live.ended.then(() => {
      const forget = () => this.#runs.get(key) === live && this.#runs.delete(key);
      setTimeout(forget, KEEP_MS).unref();
    });
    return live;
  }

  /** Reads a conversation; undefined if the caller has no conversation with this id. */
  async read<Value>(
    { caller, id }: ConversationOf,
    read: (agent: PocketAgent<unknown>) => Value,
  ): Promise<Value | undefined> {
    const key = { owner: caller.id, id };
    if (id.length > MAX_ID_LENGTH || !(await this.#conversations.has(key))) return undefined;
    return this.#conversations.use(key, async (agent) => read(agent as PocketAgent<unknown>));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#runs.values()].map((run) => run.stop(`${this.#agent.name} was closed.`)));
    this.#conversations.close();
  }
}

function keyOf({ caller, id }: ConversationOf): string {
  return JSON.stringify([caller.id, id]);
}
