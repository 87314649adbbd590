// The last requests to models, whole. Prompts of one conversation share their messages, which count once.
import { estimateBytes } from '@pocket-agent/kit';
import type { LanguageModel, ModelCallReport } from 'pocket-agent';
import { SwitchableModel } from 'pocket-agent/internal';
import type { ModelCallDetails, ModelCallInfo } from '../wire/wire.ts';

const MAX_CALLS = 2_000;
const MAX_BYTES = 134_217_728;

/** A request with the model that was asked, to ask it again. */
export interface KeptCall {
  details: ModelCallDetails;
  model: LanguageModel;
}

export class ModelCalls {
  /** By id, oldest first. */
  readonly #calls = new Map<string, KeptCall>();
  /** Messages, tools and answers of the calls that are kept, with the number of those that have them. */
  readonly #parts = new Map<object, { bytes: number; uses: number }>();
  readonly #partsOf = new Map<string, object[]>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** When a request is sent, and again when it is answered. Returns what pages are told of it. */
  keep(chatId: string, report: ModelCallReport): ModelCallInfo {
    const { id, model, prompt, tools, settings, answer } = report;
    this.#release(id);
    const info = infoOf(chatId, report);
    const known = this.#calls.get(id)?.model;
    const details = { ...info, prompt, tools, settings, answer: answer && shownAnswer(answer) };
    this.#calls.set(id, { details, model: known ?? (model instanceof SwitchableModel ? model.current : model) });
    const parts = [...prompt, ...tools, ...(answer?.content ?? [])];
    this.#partsOf.set(id, parts);
    for (const part of parts) this.#hold(part);
    for (const oldest of this.#calls.keys()) {
      if (this.#calls.size <= MAX_CALLS && (this.#bytes <= this.#maxBytes || this.#calls.size === 1)) break;
      this.#calls.delete(oldest);
      this.#release(oldest);
    }
    return info;
  }

  get(id: string): KeptCall | undefined {
    return this.#calls.get(id);
  }

  #hold(part: object): void {
    const known = this.#parts.get(part) ?? { bytes: estimateBytes(part), uses: 0 };
    if (known.uses === 0) this.#bytes += known.bytes;
    known.uses++;
    this.#parts.set(part, known);
  }

  #release(id: string): void {
    for (const part of this.#partsOf.get(id) ?? []) {
      const known = this.#parts.get(part);
      if (!known || --known.uses > 0) continue;
      this.#bytes -= known.bytes;
      this.#parts.delete(part);
    }
    this.#partsOf.delete(id);
  }
}

type Answer = NonNullable<ModelCallReport['answer']>;

/** Without prompt and answer; the page fetches these when the call is selected. */
function infoOf(chatId: string, { id, meta, model, answer, error }: ModelCallReport): ModelCallInfo {
  const { runId, time } = meta;
  return {
    ...{ id, chatId, model: `${model.provider}/${model.modelId}`, startedAt: time },
    ...(runId === undefined ? {} : { runId }),
    ...(answer || error !== undefined ? { endedAt: Date.now() } : {}),
    ...(error === undefined ? {} : { error }),
    ...(answer ? routeOf(answer) : {}),
  };
}

function shownAnswer({ content, finishReason, usage }: Answer): object {
  return { content, finishReason, usage };
}

/** What a router reports of a call. */
function routeOf({ providerMetadata }: Answer): Pick<ModelCallInfo, 'deployment' | 'waitedMs'> {
  const { deployment, waitedMs } = providerMetadata?.router ?? {};
  return {
    ...(typeof deployment === 'string' ? { deployment } : {}),
    ...(typeof waitedMs === 'number' ? { waitedMs } : {}),
  };
}

/** Leaves out the bytes of files, which would be larger than everything else. */
export function toJson(call: ModelCallDetails): string {
  return JSON.stringify(call, (_key, value: unknown) =>
    value instanceof Uint8Array ? `[${value.length} bytes]` : value,
  );
}
