// Calls that a tool makes while it runs: ordinary calls of the run, through the same gate. Their results go to the tool, not
// into the history.
import type { CallToolResult } from '@modelcontextprotocol/client';
import {
  deepFreeze,
  isPocketError,
  isRecord,
  onAbort,
  PocketError,
  type PocketErrorCode,
  Semaphore,
} from '@pocket-agent/kit';
import type { CallRecord } from '../access/audit.ts';
import type { JudgedTool } from '../access/capabilities.ts';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import { type JournaledInnerCall, SavedInnerCalls } from '../run/inner-journal.ts';
import { bothAsking } from '../run/run-context.ts';
import { type ActiveCall, inCall, newCall, type RequestedCall, type StepCalls } from './step-calls.ts';
import { resultText } from './tool-result.ts';
import type { ToolGroup } from './tool-source.ts';
import type { ToolEntry } from './tool-table.ts';

/** A tool that another tool may call. */
export interface ReachableTool extends JudgedTool {
  /** Its server or folder. */
  group?: ToolGroup | undefined;
}

/** An entry in the log of the calls that a tool made. */
export interface InnerCall extends Pick<CallRecord, 'outcome' | 'durationMs'> {
  toolCallId: string;
  toolName: string;
}

/** Calls other tools for a tool. Hooks, rules, approvals, budget and audit apply as if the model made the call. */
export interface ToolCaller {
  /** Aborted when no more calls can be made: the run was aborted, a call has ended it, or the tool has returned. */
  readonly signal: AbortSignal;
  /** When the call of the tool began, in milliseconds; the same when another process repeats it. */
  readonly startedAt: number;
  /** Calls of another process that were not repeated in this one: the tool did something else here. */
  readonly unrepeated: readonly ToolCall[];
  /** The tools that may be called. */
  list(): readonly ReachableTool[];
  /** Rejects if the call is refused or fails. */
  call(name: string, args: Record<string, unknown>, options?: InnerCallOptions): Promise<CallToolResult>;
}

/** How a call that a tool makes is recorded and observed. */
export interface InnerCallOptions {
  /** `via` of its audit record. Default `tool`. */
  via?: string;
  /** Called with true when a person is asked during the call, and with false when the question is settled. */
  asking?(isAsked: boolean): void;
}

/** Runs calls, with hooks, policy and audit. Neither function rejects. */
export interface Gate {
  pass(call: ActiveCall): Promise<ToolResult>;
  /** Ends a call that was still waiting when the run was stopped. */
  skip(step: StepCalls, request: RequestedCall): ToolResult;
}

type InnerOutcome = NonNullable<JournaledInnerCall['outcome']>;

interface InnerStep {
  step: StepCalls;
  slots: Semaphore;
}

/** By the step of the outer calls. Each level has its own slots, so that no call waits for a slot that its caller holds. */
const innerSteps = new WeakMap<StepCalls, InnerStep>();

function innerStepOf(outer: StepCalls): InnerStep {
  let inner = innerSteps.get(outer);
  if (!inner) {
    // the calling tool gets the full result, so nothing has to be kept
    const step = { ...outer, ...outer.reach, keepResult: async () => undefined };
    inner = { step, slots: new Semaphore(outer.settings.maxParallelToolCalls) };
    innerSteps.set(outer, inner);
  }
  return inner;
}

/** Shared by the calls of one tool call. */
interface OpenCalls extends InnerStep {
  ending: AbortController;
  stopListening: readonly (() => void)[];
  pending: Set<Promise<unknown>>;
  log: InnerCall[];
  count: number;
  /** Undefined if the tool cannot resume after a crash. */
  saved: SavedInnerCalls | undefined;
}

export class InnerCalls implements ToolCaller {
  readonly #outer: ActiveCall;
  readonly #gate: Gate;
  /** Made at first use: most tools call no others. */
  #open: OpenCalls | undefined;
  #hasEnded = false;

  constructor(outer: ActiveCall, gate: Gate) {
    this.#outer = outer;
    this.#gate = gate;
  }

  get signal(): AbortSignal {
    return this.#opened.ending.signal;
  }

  get startedAt(): number {
    return this.#opened.saved?.startedAt ?? Date.now();
  }

  get unrepeated(): readonly ToolCall[] {
    return this.#opened.saved?.unrepeated ?? [];
  }

  list(): readonly ReachableTool[] {
    return reachable(this.#opened.step.table.entries, this.#callers);
  }

  call(
    name: string,
    args: Record<string, unknown>,
    { via = 'tool', asking }: InnerCallOptions = {},
  ): Promise<CallToolResult> {
    const { id } = this.#outer.record.call;
    const open = this.#opened;
    const read = jsonObject(args);
    const { saved } = open;
    const known = saved?.take(name, read ?? {});
    const call = { id: known?.id ?? `${id}.${++open.count}`, name, arguments: read ?? {} };
    if (known?.outcome) return this.#repeat(known, known.outcome);
    const request: RequestedCall = {
      call: deepFreeze(call),
      from: {
        toolCallId: id,
        names: this.#callers,
        via,
        asking: bothAsking(asking, this.#outer.request.from?.asking),
        saveBegin: saved && ((begun) => saved.begin(begun)),
      },
      ...(known && !known.waits && !this.#canResume(name) ? { isLost: true } : {}),
    };
    const text = `The arguments of "${name}" must be an object of JSON values.`;
    if (!read) request.malformed = new PocketError('TOOL_ARGUMENTS_INVALID', text);
    const calling = this.#call(request, open);
    open.pending.add(calling);
    const settled = () => void open.pending.delete(calling);
    calling.then(settled, settled); // also handles the rejection of a call that the tool does not await
    return calling;
  }

  /** Refuses further calls. Resolves with the log when all calls have ended; undefined if the tool made no calls. */
  end(): Promise<readonly InnerCall[]> | undefined {
    this.#hasEnded = true;
    const open = this.#open;
    if (!open) return undefined;
    for (const stopListening of open.stopListening) stopListening();
    open.ending.abort(this.#endError());
    return Promise.allSettled(open.pending).then(() => open.log);
  }

  get #opened(): OpenCalls {
    this.#open ??= this.#start();
    return this.#open;
  }

  #start(): OpenCalls {
    const { step, stop, canResume, record } = this.#outer;
    const journal = canResume ? step.journal?.inner(record.call.id) : undefined;
    const saved = journal && new SavedInnerCalls(record.call.id, journal);
    const ending = new AbortController();
    const end = (reason: unknown) => ending.abort(reason);
    const ends = this.#hasEnded ? [] : [step.context.signal, stop.signal];
    if (this.#hasEnded) end(this.#endError());
    const stopListening = ends.map((signal) => onAbort(signal, end));
    return {
      ...innerStepOf(step),
      ending,
      stopListening,
      pending: new Set(),
      log: [],
      count: saved?.highestNumber ?? 0,
      saved,
    };
  }

  #endError(): PocketError {
    const text = `The call of "${this.#outer.record.call.name}" has ended, so it can make no more calls.`;
    return new PocketError('ABORTED', text);
  }

  async #call(request: RequestedCall, { step, slots, ending, log, saved }: OpenCalls): Promise<CallToolResult> {
    ending.signal.throwIfAborted();
    const { id: toolCallId, name: toolName } = request.call;
    let release: () => void;
    try {
      release = await slots.acquire(ending.signal);
    } catch (error) {
      this.#gate.skip(step, request);
      log.push({ toolCallId, toolName, outcome: 'not run', durationMs: 0 });
      throw error;
    }
    try {
      const call = newCall({ step, request, stop: this.#outer.stop });
      const result = await inCall(call, () => this.#gate.pass(call));
      if (call.suspended) {
        await saved?.wait(request.call).catch((error) => this.#outer.stop.stop(error));
        ending.abort(call.suspended); // the tool ends too, and repeats its calls when the run is resumed
        throw call.suspended;
      }
      const { outcome, durationMs } = call.record;
      log.push({
        toolCallId,
        toolName,
        outcome: result.isError && outcome === 'done' ? 'failed' : outcome,
        durationMs,
      });
      const ended = outcomeOf(result, call.returned);
      if (saved && !step.context.signal.aborted)
        await saved.end(request.call, ended).catch((error) => this.#outer.stop.stop(error));
      return readOutcome(ended, result.extra.error);
    } finally {
      release();
    }
  }

  /** Repeats a call of another process, whose outcome is in the journal. */
  async #repeat({ id: toolCallId, name: toolName }: ToolCall, outcome: InnerOutcome): Promise<CallToolResult> {
    const { step, log, saved } = this.#opened;
    const { budget, pathKey } = step.context;
    try {
      budget.takeToolCall(pathKey, toolName);
    } catch (error) {
      this.#outer.stop.stop(error);
      throw error;
    }
    for (const used of saved?.usedBy(toolCallId) ?? []) budget.add(used);
    log.push({ toolCallId, toolName, outcome: 'error' in outcome ? 'failed' : 'done', durationMs: 0 });
    return readOutcome(outcome);
  }

  #canResume(name: string): boolean {
    const entry = this.#opened.step.table.find(name);
    return entry?.source.resumes?.(entry.tool) ?? false;
  }

  /** Tools that this one may not call: itself, and those that called it. */
  get #callers(): readonly string[] {
    const { request } = this.#outer;
    return [...(request.from?.names ?? []), request.call.name];
  }
}

/** As a model would write it, so that it can be audited. Undefined for other values. */
function jsonObject(value: unknown): Record<string, unknown> | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value));
    return isRecord(copy) ? copy : undefined;
  } catch {
    return undefined; // a cycle, a bigint, a getter that throws, nested too deeply, or undefined
  }
}

function outcomeOf(
  { isError, toolResultContent, extra }: ToolResult,
  returned: CallToolResult | undefined,
): InnerOutcome {
  if (!isError && returned) return { result: returned };
  // a hook may have removed something
  const content: CallToolResult['content'] = toolResultContent.map((part) =>
    part.type === 'text' ? part : { type: 'image', mimeType: part.mediaType, data: part.data.data },
  );
  if (!isError) return { result: { content } };
  const { error } = extra;
  return { error: { code: isPocketError(error) ? error.code : 'TOOL_FAILED', message: resultText({ content }) } };
}

function readOutcome(outcome: InnerOutcome, cause?: unknown): CallToolResult {
  if ('result' in outcome) return outcome.result;
  const { code, message } = outcome.error;
  throw new PocketError(code as PocketErrorCode, message, { cause });
}

/** The tools that a tool may call which was called by tools with these names. */
export function reachable(entries: readonly ToolEntry[], callers: readonly string[]): readonly ReachableTool[] {
  return entries
    .filter(({ name, source, tool }) => !callers.includes(name) && !source.providerTool?.(tool))
    .map(({ source, ...judged }) => ({ ...judged, group: source.group?.(judged.tool) }));
}
