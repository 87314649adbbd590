// One agent has one history, so its runs take turns. A run or step that starts inside a run of the same agent does not
// wait: it is part of that run, which ends after it.
import { abortable, PocketError, readable, startDeadline } from '@pocket-agent/kit';
import { readProfile } from '../access/capabilities.ts';
import { Policy } from '../access/policy.ts';
import { Budget } from '../cost/budget.ts';
import type { OutputRun } from '../output/output-run.ts';
import { providerOf } from '../providers/model-names.ts';
import { AnnouncedRun } from '../run/announced-run.ts';
import { currentRun, inRun, lastRun, NO_METADATA, type RunAgent, type RunContext } from '../run/run-context.ts';
import { type RunOptions, runOptions } from '../run/run-options.ts';
import { TracedContent } from '../tracing/content.ts';
import { inRunSpan, type TracedRun } from '../tracing/run-span.ts';
import type { PocketAgent } from './agent.ts';
import type { AgentParts } from './agent-parts.ts';

type Optional<Options> = { [Key in keyof Options]: Options[Key] | undefined };

/** A run, a part of one such as a step, or `super.run()` within an overridden `run`. */
interface Entry {
  options: Partial<Optional<RunOptions>>;
  /** Without it, the entry returns what the run around it returns. */
  returns?: Returns | undefined;
  /** The text with which a run is announced to listeners. `super.run()` has none: the overridden run was announced. */
  announcedInput?: string | undefined;
  /** Whether it continues the last run. */
  isResumed?: boolean | undefined;
  /** The call of a parent agent that the run answers. */
  madeFor?: string | undefined;
}

/** A value of the schema `output`, or text. */
type Returns = OutputRun | 'text';

/** The runs around an entry. If it is part of a run of this agent, all three are that run. */
interface RunsAround {
  /** The run of this agent that the entry is part of: it holds the turn and saves the history. */
  own: RunContext | undefined;
  /** The run whose code made the entry. It may have finished; its access rules still apply. */
  startedBy: RunContext | undefined;
  /** The nearest of `startedBy` and the runs around it that has not finished. */
  parent: RunContext | undefined;
}

interface OpenContext {
  context: RunContext;
  /** Call it when the work has ended. */
  endDeadline(): void;
}

type Work<Value> = (context: RunContext) => Promise<Value>;

/** By agent: the runs of other agents that its run waits for. */
const waitsFor = new WeakMap<RunAgent, Set<RunContext>>();

export class RunQueue {
  readonly #agent: PocketAgent<unknown>;
  readonly #parts: AgentParts;
  readonly #closing = new AbortController();
  /** Settles when the last run in the queue has ended. */
  #last = Promise.resolve();
  #active: RunContext | undefined;
  /** Runs in the queue, the current one included. */
  #entered = 0;

  constructor(agent: PocketAgent<unknown>, parts: AgentParts) {
    this.#agent = agent;
    this.#parts = parts;
  }

  /** The run that the current code is part of, unless the code is a tool that the run called. */
  get current(): RunContext | undefined {
    const context = currentRun();
    return context?.agent === this.#agent && context.toolCallId === undefined ? context : undefined;
  }

  /** The run of this agent whose events are emitted now, also if a server causes an event outside the run. */
  get runOfEvents(): RunContext | undefined {
    const context = currentRun();
    return context?.agent === this.#agent ? context : this.#active;
  }

  get isRunning(): boolean {
    return this.#entered > 0;
  }

  /** Calls `work` as a run of this agent: now if it is inside one, otherwise after the runs before it. */
  async enter<Value>(entry: Entry, work: Work<Value>): Promise<Value> {
    const { announcedInput, isResumed = false, madeFor } = entry;
    const own = this.current;
    const sharesContext = own !== undefined && fitsInto(own, entry);
    const { context, endDeadline } = sharesContext ? sharedContext(own) : this.#newContext(entry, own);
    const saved = own ? undefined : this.#parts.history.saved;
    let leave: (() => void) | undefined;
    let announced: AnnouncedRun | undefined;
    try {
      context.signal.throwIfAborted();
      leave = own ? keepOpen(own) : await this.#waitForTurn(context);
      if (announcedInput !== undefined) announced = new AnnouncedRun(this.#agent, context, announcedInput);
      if (saved) await saved.begin(context.signal, { isResumed, madeFor });
      const span = announcedInput === undefined ? undefined : () => this.#traced(context, entry);
      const answer = await inRunSpan(span, () => inRun(context, () => work(context)));
      if (saved) await saved.save();
      announced?.finished(answer);
      return answer;
    } catch (error) {
      await announced?.failed(error);
      throw error;
    } finally {
      if (!sharesContext) {
        if (context.open > 0) await allClosed(context);
        context.finished = true;
      }
      if (saved) await saved.end();
      leave?.();
      endDeadline();
    }
  }

  #traced(context: RunContext, { announcedInput: input = '', options: { traceparent } }: Entry): TracedRun {
    const { llmModel } = this.#agent;
    const name = (model: string) => ({ provider: providerOf(model) ?? model, modelId: model.replace(/^[^/]+\//, '') });
    return {
      agent: this.#agent,
      model: typeof llmModel === 'string' ? name(llmModel) : llmModel,
      input,
      caller: context.policy.caller,
      traceparent: traceparent ?? undefined,
      content: context.content,
      usage: () => context.budget.totals.usage,
    };
  }

  /** Aborts the current run and refuses later ones. */
  close(): void {
    const hint = 'Await a run before its agent goes out of scope: return await agent.run(…).';
    const text = `The agent ${this.#agent.name} was closed; make a new one. ${hint}`;
    this.#closing.abort(new PocketError('AGENT_CLOSED', text));
  }

  #newContext({ options, returns }: Entry, own: RunContext | undefined): OpenContext {
    const { settings, ledger } = this.#parts;
    const { profile, onEvent, streaming = onEvent !== undefined } = options;
    const { name } = this.#agent;
    const profiles = profile === undefined ? [] : readable('profile', () => [profile].flat().map(readProfile));
    const { startedBy, parent } = runsAround(own);
    if (!own) this.#refuseCycle(parent);
    const path = own ? own.path : Object.freeze([...(parent?.path ?? []), name]);
    const budget =
      own?.budget ?? new Budget({ name, limits: settings, parent: parent?.budget, lifetime: ledger.lifetime });
    // waiting for a turn counts
    const deadline = startDeadline({
      what: `The run of ${name}`,
      signals: [this.#closing.signal, parent?.signal, options.signal],
      timeoutMs: options.timeoutMs ?? (own ? undefined : settings.timeoutMs),
      details: () => ({ totals: structuredClone(budget.totals) }),
    });
    const policy = this.#newPolicy(options, { own, startedBy, parent, path, profiles });
    const context: RunContext = {
      agent: this.#agent,
      parent,
      path,
      pathKey: path.join('/'),
      signal: deadline.signal,
      budget,
      prices: ledger.pricesWithin(startedBy?.prices),
      policy,
      content: settings.traceContent ? new TracedContent(policy.redactedPatterns) : undefined,
      elicit: options.elicit ?? parent?.elicit,
      asking: parent?.asking,
      listener: onEvent,
      modelListener: options.onModelCall,
      streaming: streaming || (parent?.streaming ?? false),
      traceparent: options.traceparent ?? parent?.traceparent,
      output: outputOf(returns, own),
      metadata: metadataOf(options, startedBy),
      toolCallId: undefined,
      shared: own?.shared ?? { steps: 0 },
      open: 0,
      onAllClosed: undefined,
      finished: false,
    };
    return { context, endDeadline: deadline.release };
  }

  #newPolicy(
    { approve, approveFallback, caller }: Entry['options'],
    { own, startedBy, parent, path, profiles }: RunsAround & Pick<Policy, 'path' | 'profiles'>,
  ): Policy {
    const inherited = startedBy?.finished ? startedBy.policy.inheritUntil(parent?.policy) : undefined;
    return new Policy({
      rules: this.#parts.access,
      parent: inherited ? inherited.parent : parent?.policy,
      path,
      profiles,
      // the approver of a run around this one, even a finished one, takes precedence
      approve: inherited?.approve ?? approve ?? (own ? undefined : this.#agent.approve),
      approveFallback: inherited?.approveFallback ?? approveFallback,
      caller: caller ?? startedBy?.policy.caller,
    });
  }

  /** Resolves when the runs before this one have ended, with a function that ends this turn. */
  async #waitForTurn(context: RunContext): Promise<() => void> {
    const callers = agentsAround(context);
    for (const caller of callers) {
      if (!waitsForAgent(this.#agent, caller)) continue;
      const { name } = this.#agent;
      throw this.#cycle(context.path, `${caller.name}, because a run of ${name} already waits for ${caller.name}`);
    }
    this.#entered++;
    const before = this.#last;
    const ended = Promise.withResolvers<void>();
    this.#last = before.then(() => ended.promise);
    for (const caller of callers) waitsFor.set(caller, (waitsFor.get(caller) ?? new Set()).add(context));
    const leave = () => {
      for (const caller of callers) waitsFor.get(caller)?.delete(context);
      this.#entered--;
      if (this.#active === context) this.#active = undefined;
      ended.resolve();
    };
    try {
      await abortable(before, context.signal);
    } catch (error) {
      leave();
      throw error;
    }
    this.#active = context;
    return leave;
  }

  #refuseCycle(parent: RunContext | undefined): void {
    for (const agent of agentsAround({ parent })) {
      if (agent === this.#agent) throw this.#cycle([...(parent?.path ?? []), agent.name], 'its own run');
    }
  }

  #cycle(path: readonly string[], where: string): PocketError {
    return new PocketError('AGENT_CYCLE', `${this.#agent.name} cannot be called from ${where}: ${path.join(' → ')}.`);
  }
}

/** Throws if code of an aborted run makes the entry: it starts no runs. */
function runsAround(own: RunContext | undefined): RunsAround {
  const startedBy = lastRun();
  let parent = startedBy;
  for (; parent?.finished; parent = parent.parent) parent.signal.throwIfAborted();
  return { own, startedBy, parent };
}

/** A run for another caller does not inherit the metadata of the first one. */
function metadataOf({ caller, metadata }: Entry['options'], startedBy: RunContext | undefined): RunContext['metadata'] {
  if (metadata) return readable('metadata', () => Object.freeze({ ...metadata }));
  const isSameCaller = (caller ?? startedBy?.policy.caller) === startedBy?.policy.caller;
  return isSameCaller ? (startedBy?.metadata ?? NO_METADATA) : NO_METADATA;
}

function outputOf(returns: Returns | undefined, own: RunContext | undefined): OutputRun | undefined {
  if (returns === undefined) return own?.output;
  return returns === 'text' ? undefined : returns;
}

/** An entry shares the context of the run that it is part of if it has no options of its own and the same output. */
function fitsInto(own: RunContext, { options, returns }: Entry): boolean {
  if (outputOf(returns, own) !== own.output) return false;
  return !Object.entries(options).some(
    ([key, value]) => key !== 'output' && runOptions.has(key) && (value ?? undefined) !== undefined,
  );
}

function sharedContext(own: RunContext): OpenContext {
  return { context: own, endDeadline: () => {} };
}

/** A run ends after its nested runs, awaited or not; the next run must not share their history. */
function keepOpen(context: RunContext): () => void {
  context.open++;
  return () => {
    if (--context.open === 0) context.onAllClosed?.();
  };
}

/** Resolves when nested runs have ended, or immediately after an abort. */
function allClosed(context: RunContext): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  context.onAllClosed = resolve;
  return abortable(promise, context.signal).catch(() => {});
}

/** The agents of the runs that a run is part of, each once. */
function agentsAround({ parent }: Pick<RunContext, 'parent'>): Set<RunAgent> {
  const agents = new Set<RunAgent>();
  for (let run = parent; run; run = run.parent) if (!run.finished) agents.add(run.agent);
  return agents;
}

/** Whether a run of `agent` waits for a run of `other`, directly or through other runs. */
function waitsForAgent(agent: RunAgent, other: RunAgent, seen = new Set<RunAgent>()): boolean {
  if (agent === other) return true;
  seen.add(agent);
  return [...(waitsFor.get(agent) ?? [])].some((run) => !seen.has(run.agent) && waitsForAgent(run.agent, other, seen));
}
