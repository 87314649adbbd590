// The runs of a handler that live in this process, by caller and conversation. A caller reaches only its own.
import { errorText, isPublicError } from '@pocket-agent/kit';
import type { Message, PocketAgent, RunOptions, UserInput } from 'pocket-agent';
import { servedApproval } from 'pocket-agent/internal';
import { ConversationMemory, Conversations, MAX_ID_LENGTH, RunLimit } from 'pocket-agent/internal/serve';
import type { WebCaller } from './caller.ts';
import { type Encoder, LiveRun } from './live-run.ts';
import { DEFAULT_ABANDON_MS, type WebOptions } from './options.ts';
import { errorResponse } from './responses.ts';
import { beginsWith, firstTurns, keepFirstTurns, questionsIn } from './turns.ts';

/** How long a finished answer can be replayed. */
const KEEP_MS = 60_000;

/** A conversation of a caller. */
export interface ConversationRef {
  caller: WebCaller;
  id: string;
}

interface TurnRequest extends ConversationRef {
  input: string | UserInput;
  /** Set if the page repeats or edits an earlier question: the questions before it. */
  earlierQuestions: readonly string[] | undefined;
  traceparent: string | undefined;
  /** `before`: the messages of the conversation before this turn. */
  makeEncoder(emit: (event: object) => void, before: readonly Message[]): Encoder;
}

export const STILL_ANSWERING = 'This conversation is still being answered. Wait for the answer, or stop it.';
export const NOT_SAVED = 'The page does not show the saved messages of this conversation. Please load them first.';

/** The error response if no run can be started, whatever other runs there are. */
export function startRefusal({ name, isClosed, id }: { name: string; isClosed: boolean; id: string }) {
  if (isClosed) return errorResponse(503, `${name} is shutting down. Try again later.`);
  if (id.length <= MAX_ID_LENGTH) return undefined;
  return errorResponse(400, `The id of a conversation must have at most ${MAX_ID_LENGTH} characters.`);
}

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

  /** The current run of the conversation, or one that has just ended. */
  find(ref: ConversationRef): LiveRun | undefined {
    return this.#runs.get(keyOf(ref));
  }

  /** Starts a run for a question of the user, or returns an error response. */
  async startTurn(request: TurnRequest): Promise<LiveRun | Response> {
    const { earlierQuestions } = request;
    const previous = this.find(request);
    if (previous && !previous.isOver) {
      if (!previous.isWaiting && previous.isFollowed) return errorResponse(409, STILL_ANSWERING);
      if (earlierQuestions && !beginsWith(previous.questions, earlierQuestions)) return errorResponse(409, NOT_SAVED);
      // a new message cancels a run that waits for the user or that no page follows
      await previous.stop('The user wrote another message.');
    }
    const refusal = this.#refusal(request);
    if (refusal) return refusal;
    const messages = (await this.read(request, (agent) => [...agent.messages])) ?? [];
    if (earlierQuestions && !beginsWith(questionsIn(messages), earlierQuestions)) return errorResponse(409, NOT_SAVED);
    // another request may have started a run since the first check
    if (this.find(request) !== previous) return errorResponse(409, STILL_ANSWERING);
    return this.#refusal(request) ?? this.#start(request, messages);
  }

  /** The error response if no run can be started. */
  #refusal({ caller, id }: ConversationRef): Response | undefined {
    const refusal = startRefusal({ name: this.#agent.name, isClosed: this.#isClosed, id });
    if (refusal) return refusal;
    const limit = this.#limit.refusal({ caller: caller.id, isOneOfMany: true });
    return limit === undefined ? undefined : errorResponse(429, limit);
  }

  #start(request: TurnRequest, messages: readonly Message[]): LiveRun {
    const { caller, id, input, earlierQuestions, traceparent } = request;
    const { abandonMs = DEFAULT_ABANDON_MS, approvals, timeoutMs } = this.#options;
    const key = keyOf(request);
    const before = earlierQuestions ? firstTurns(messages, earlierQuestions.length) : messages;
    const question = typeof input === 'string' ? input : input.text;
    const live = new LiveRun({
      makeEncoder: (emit) => request.makeEncoder(emit, before),
      questions: [...questionsIn(before), question],
      abandonMs,
    });
    const done = this.#limit.begin({ caller: caller.id });
    this.#runs.set(key, live);
    live.start((run) =>
      this.#conversations
        .use({ owner: caller.id, id }, async (agent) => {
          if (earlierQuestions) keepFirstTurns(agent as PocketAgent<unknown>, earlierQuestions.length);
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
    { caller, id }: ConversationRef,
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

function keyOf({ caller, id }: ConversationRef): string {
  return JSON.stringify([caller.id, id]);
}
