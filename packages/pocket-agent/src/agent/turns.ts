// Whose turn it is: one agent has one history, so its runs wait for each other; and who hears of what happens in them.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  abortable,
  errorText,
  type Logger,
  nullable,
  nullableBoolean,
  nullableFunction,
  nullableString,
  OptionSet,
  PocketError,
  positiveNumber,
  snapshot,
  startDeadline,
} from '@pocket-agent/kit';
import { type Profile, type ProfileName, readProfile } from '../access/access.ts';
import type { Approve } from '../access/approval.ts';
import type { Gate } from '../access/gate.ts';
import { inheritanceOf } from '../access/rights.ts';
import { type AgentEvent, type EventListener, isMinor, type UnsignedEvent } from '../base/events.ts';
import { insideOf, withAllInside } from '../base/inside-run.ts';
import { currentFrame, inFrame, lastFrame, type RunFrame } from '../base/run-frame.ts';
import { Budget, type BudgetLimits } from '../cost/budget.ts';
import type { Ledger } from '../cost/ledger.ts';
import type { ServerHandlers } from '../mcp/server-requests.ts';

export interface RunOptions {
  signal?: AbortSignal;
  /** Instead of `limits.timeoutMs`, for this run. */
  timeoutMs?: number;
  /** W3C trace context, passed on to MCP servers. */
  traceparent?: string;
  /** Sees the events of this run and of the runs inside it. */
  onEvent?: EventListener;
  /** Whether the model is asked to stream. Default: when somebody watches. */
  streaming?: boolean;
  /** A narrower profile than the agent's, for this run. */
  profile?: ProfileName | Profile | readonly (ProfileName | Profile)[];
  /** Asked instead of the agent's own `approve`. */
  approve?: Approve;
  /** Asked when neither this agent nor one that calls within the run has an `approve`. */
  approveFallback?: Approve;
  /** Asked instead of the agent's own `elicitationHandler`. */
  elicit?: ServerHandlers['elicitationHandler'];
  /** For whom the run is. Stands in the audit records of its calls. */
  caller?: string;
}

const signal = nullable('an AbortSignal, such as controller.signal', (value) => value instanceof AbortSignal);

export const runOptions = new OptionSet<RunOptions>('A run', {
  signal,
  timeoutMs: positiveNumber,
  traceparent: nullableString,
  onEvent: nullableFunction,
  streaming: nullableBoolean,
  profile: true,
  approve: nullableFunction,
  approveFallback: nullableFunction,
  elicit: nullableFunction,
  caller: nullableString,
});

type TurnOptions = { [Key in keyof RunOptions]: RunOptions[Key] | undefined };

export interface TurnOwner {
  readonly name: string;
  readonly agentId: string;
  readonly hooks: { onEvent?(event: AgentEvent): void | Promise<void> };
  readonly logger: Logger;
  readonly gate: Gate;
  readonly approve: Approve | undefined;
}

export interface TurnLimits extends BudgetLimits {
  timeoutMs: number | undefined;
}

/** Listeners that are this many events behind miss minor ones, which a server may send without end. */
const MOST_PENDING_HOOKS = 1_000;

/** Of all agents that nobody has asked yet. */
const nobody = Promise.resolve();

/** One call of a listener, and the one it happens in. */
interface Listening {
  within: Listening | undefined;
  isOver: boolean;
}

const listenings = new AsyncLocalStorage<Listening | undefined>();

/** The innermost call of a listener around this code. Those that are over are skipped, so that the chain cannot grow. */
function listeningHere(): Listening | undefined {
  let here = listenings.getStore();
  while (here?.isOver) here = here.within;
  return here;
}

/** Whether this code is part of what a listener does. */
function isInside(listening: Listening): boolean {
  let here = listeningHere();
  while (here && here !== listening) here = here.within;
  return here !== undefined;
}

export class Turns {
  readonly #owner: TurnOwner;
  readonly #limits: TurnLimits;
  readonly #ledger: Ledger;
  readonly #closing = new AbortController();
  /** The turn that is last in line; the next one waits for it. */
  #last = nobody;
  #active: RunFrame | undefined;
  /** Turns of other agents that calls inside the active turn wait for; of one agent there may be several. */
  #waitsFor: Set<RunFrame> | undefined;
  #pendingHooks: Map<Listening, Promise<void>> | undefined;

  constructor(owner: TurnOwner, limits: TurnLimits, ledger: Ledger) {
    this.#owner = owner;
    this.#limits = limits;
    this.#ledger = ledger;
  }

  /** Whether anybody would see an event of the run that is on. */
  get isObserved(): boolean {
    return this.hears || isWatched(this.#active);
  }

  get hears(): boolean {
    return this.#owner.hooks.onEvent !== undefined;
  }

  get logger(): Logger {
    return this.#owner.logger;
  }

  /** The turn that is going on, for work that a server asks for from outside of it. */
  get active(): RunFrame | undefined {
    return this.#active;
  }

  /** Whether the code that asks runs within a turn of this agent (and not in a tool it called). */
  get isOn(): boolean {
    const frame = currentFrame();
    return frame?.owner === this && frame.toolCallId === undefined;
  }

  /** Runs `work` as a turn of this agent: at once within its own turn, otherwise when the turns before are over. */
  take<Value>(options: TurnOptions, work: (frame: RunFrame) => Promise<Value>): Promise<Value> {
    const last = lastFrame();
    return last && this.isOn && asksForNothing(options) ? insideOf(last, work) : this.#begin(last, options, work);
  }

  async #begin<Value>(
    last: RunFrame | undefined,
    options: TurnOptions,
    work: (frame: RunFrame) => Promise<Value>,
  ): Promise<Value> {
    const {
      signal,
      timeoutMs,
      traceparent,
      onEvent,
      streaming = onEvent !== undefined,
      profile,
      approve,
      approveFallback,
      elicit,
      caller,
    } = options;
    if (timeoutMs !== undefined && !(timeoutMs > 0)) {
      throw new PocketError('CONFIG_INVALID', `timeoutMs must be a number greater than 0, got ${timeoutMs}.`);
    }
    const profiles = profile === undefined ? [] : [profile].flat().map(readProfile);
    const own = this.isOn ? last : undefined;
    const inherited = inheritanceOf(last);
    const { parent, around } = inherited;
    if (!own) this.#refuseCycle(parent);
    const { name } = this.#owner;
    const path = own ? own.path : Object.freeze([...(around?.path ?? []), name]);
    const deadline = startDeadline(
      `The run of ${name}`,
      [this.#closing.signal, around?.signal, signal],
      timeoutMs ?? (own ? undefined : this.#limits.timeoutMs),
      () => ({ totals: structuredClone(frame.budget.totals) }),
    );
    const frame: RunFrame = {
      owner: this,
      parent,
      path,
      place: path.join('/'),
      signal: deadline.signal,
      budget: own?.budget ?? new Budget(name, this.#limits, around?.budget, this.#ledger.lifetime),
      prices: this.#ledger.prices,
      gate: this.#owner.gate,
      profiles,
      approve: inherited.approve ?? approve ?? (own ? undefined : this.#owner.approve),
      approveFallback: inherited.approveFallback ?? approveFallback,
      elicit: elicit ?? around?.elicit,
      caller: caller ?? last?.caller,
      listener: onEvent,
      streaming: streaming || (around?.streaming ?? false),
      traceparent: traceparent ?? around?.traceparent,
      toolCallId: undefined,
      count: own?.count ?? { steps: 0 },
      open: 0,
      allDone: undefined,
      finished: false,
    };
    try {
      deadline.signal.throwIfAborted();
      const turn = () => inFrame(frame, () => withAllInside(frame, work));
      return await (own ? insideOf(own, turn) : this.#inLine(frame, turn));
    } finally {
      deadline.release();
    }
  }

  /** Shows an event to the owner's hook, to whoever watches the run, and to the agents above. */
  emit({ type, data }: UnsignedEvent, meta?: Record<string, unknown>): void {
    const current = currentFrame();
    // what a server sends arrives outside of the run it belongs to
    const frame = current?.owner === this ? current : this.#active;
    if (!this.hears && !isWatched(frame)) return;
    if (isMinor(type) && (this.#pendingHooks?.size ?? 0) >= MOST_PENDING_HOOKS) return;
    const { name: agentName, agentId } = this.#owner;
    const path = frame?.path ?? Object.freeze([agentName]);
    const isSubAgent = path.length > 1;
    const parentRunId = isSubAgent && frame ? callingRunId(frame) : undefined;
    const signature = {
      agentName,
      agentId,
      isSubAgent,
      path,
      time: Date.now(),
      runId: frame && runIdOf(frame),
      ...(parentRunId ? { parentRunId } : {}),
    };
    const signed = Object.freeze({
      type,
      // data of custom events belongs to the program, which may want to share something that changes
      data: type.startsWith('custom:') ? data : snapshot(data),
      meta: meta ? snapshot({ ...meta, ...signature }) : Object.freeze(signature),
    }) as AgentEvent;
    this.#show(signed, this.#owner.hooks.onEvent);
    let below: Turns = this;
    for (let above = frame; above; above = above.parent) {
      if (above.finished) continue; // of those only rules are left
      const { owner } = above;
      owner.#show(signed, above.listener);
      // hooks shared by an agent and its sub-agent hear of an event once
      if (owner !== below && owner.#owner.hooks !== below.#owner.hooks) owner.#show(signed, owner.#owner.hooks.onEvent);
      below = owner;
    }
  }

  /**
   * Resolves when hooks that were shown events have dealt with them; undefined when all have. A step that a listener
   * makes does not wait for that listener, which waits for the step.
   */
  hooksDone(signal: AbortSignal): Promise<unknown> | undefined {
    if (!this.#pendingHooks?.size) return undefined;
    const others = [...this.#pendingHooks].flatMap(([listening, done]) => (isInside(listening) ? [] : [done]));
    return others.length > 0 ? abortable(Promise.all(others), signal) : undefined;
  }

  /** Ends the turn that is on and refuses all that would come after. */
  close(): void {
    const hint = 'Await a run before its agent goes out of scope: return await agent.run(…).';
    const text = `The agent ${this.#owner.name} was closed; make a new one. ${hint}`;
    this.#closing.abort(new PocketError('AGENT_CLOSED', text));
  }

  async #inLine<Value>(frame: RunFrame, turn: () => Promise<Value>): Promise<Value> {
    const callers = ownersAbove(frame);
    for (const caller of callers) {
      if (this.#leadsTo(caller)) throw this.#cycle(frame, 'which waits for it already');
    }
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = before.then(() => done.promise);
    try {
      for (const caller of callers) {
        caller.#waitsFor ??= new Set();
        caller.#waitsFor.add(frame);
      }
      await abortable(before, frame.signal);
      this.#active = frame;
      return await turn();
    } finally {
      for (const caller of callers) caller.#waitsFor?.delete(frame);
      if (this.#active === frame) this.#active = undefined;
      done.resolve();
    }
  }

  /** Whether this agent's turn can only end after one of `other`. */
  #leadsTo(other: Turns, seen = new Set<Turns>()): boolean {
    if (this === other) return true;
    seen.add(this);
    return [...(this.#waitsFor ?? [])].some(({ owner }) => !seen.has(owner) && owner.#leadsTo(other, seen));
  }

  #refuseCycle(parent: RunFrame | undefined): void {
    for (let frame = parent; frame; frame = frame.parent) {
      if (frame.owner === this && !frame.finished)
        throw this.#cycle({ path: [...(parent?.path ?? []), this.#owner.name] }, 'its own run');
    }
  }

  #cycle({ path }: Pick<RunFrame, 'path'>, where: string): PocketError {
    const { name } = this.#owner;
    return new PocketError('AGENT_CYCLE', `${name} cannot be called from ${where}: ${path.join(' → ')}.`);
  }

  /** Whoever listens cannot break a run: what it throws, at once or later, is logged. */
  #show(event: AgentEvent, listener: ((event: AgentEvent) => void | Promise<void>) | undefined): void {
    if (!listener) return;
    const listening: Listening = { within: listeningHere(), isOver: false };
    const end = () => {
      listening.isOver = true;
      this.#pendingHooks?.delete(listening);
    };
    try {
      const pending: unknown = listenings.run(listening, () => listener.call(this.#owner.hooks, event));
      if (!(pending instanceof Promise)) {
        end();
        return;
      }
      const done: Promise<void> = pending
        .then(
          () => {},
          (error) => this.#listenerFailed(error),
        )
        .finally(end);
      this.#pendingHooks ??= new Map();
      this.#pendingHooks.set(listening, done);
    } catch (error) {
      end();
      this.#listenerFailed(error);
    }
  }

  #listenerFailed(error: unknown): void {
    this.#owner.logger.error(`A listener to events failed: ${errorText(error)}`);
  }
}

/** Then a turn within a turn needs no frame of its own. */
function asksForNothing(options: TurnOptions): boolean {
  const { signal, timeoutMs, traceparent, onEvent, profile, approve, approveFallback, elicit, caller } = options;
  const given = signal ?? timeoutMs ?? traceparent ?? onEvent ?? profile ?? approve ?? approveFallback ?? elicit;
  return given === undefined && !caller;
}

function ownersAbove(frame: RunFrame): Set<Turns> {
  const owners = new Set<Turns>();
  for (let above = frame.parent; above; above = above.parent) if (!above.finished) owners.add(above.owner);
  return owners;
}

/** Made when the first event of the run is shown. */
function runIdOf({ count }: RunFrame): string {
  count.runId ??= crypto.randomUUID();
  return count.runId;
}

function callingRunId(frame: RunFrame): string | undefined {
  for (let above = frame.parent; above; above = above.parent) {
    if (above.owner !== frame.owner && !above.finished) return runIdOf(above);
  }
  return undefined;
}

/** Nothing is made for observers that are not there. */
function isWatched(frame: RunFrame | undefined): boolean {
  for (let above = frame; above; above = above.parent) {
    if (!above.finished && (above.listener || above.owner.hears)) return true;
  }
  return false;
}
