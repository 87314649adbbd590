// Reports requests to models, as they were sent, and their answers to the listeners of runs. Without a listener nothing is made.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { callListener } from '@pocket-agent/kit';
import type { ModelCall, ModelResponse } from '../model/model-call.ts';
import { providerErrorText } from '../model/provider-errors.ts';
import { metaOf } from './event-emitter.ts';
import type { EventMeta } from './events.ts';
import type { RunAgent, RunContext } from './run-context.ts';

/** A request to a model. Its messages and tools belong to the run: do not change them. */
export interface ModelCallReport {
  /** The same when the request is sent, and when it is answered. */
  id: string;
  /** The run that asks, and when it asked. */
  meta: EventMeta;
  /** The model that is asked. */
  model: LanguageModelV4;
  prompt: LanguageModelV4CallOptions['prompt'];
  tools: NonNullable<LanguageModelV4CallOptions['tools']>;
  /** The other options of the request, without its headers. */
  settings: Omit<LanguageModelV4CallOptions, 'prompt' | 'tools' | 'headers' | 'abortSignal'>;
  answer?: ModelResponse;
  /** Why there is no answer. A request that is repeated is reported again, with another id. */
  error?: string;
}

/** Gets each request to a model twice: when it is sent, and when it is answered or has failed. */
export type ModelCallListener = (call: ModelCallReport) => void;

/** For the requests of a run; undefined if no run around it has a listener. */
export function modelCallReporter(agent: RunAgent, context: RunContext): ModelCall['onRequest'] {
  const listeners = listenersAround(context);
  if (listeners.size === 0) return undefined;
  const report = (call: ModelCallReport) => {
    for (const listener of listeners) callListener(agent.logger, 'onModelCall', () => listener(call));
  };
  return (model, request) => {
    const { prompt, tools = [], abortSignal: _, headers: _secret, ...settings } = request;
    const call: ModelCallReport = {
      id: crypto.randomUUID(),
      meta: metaOf(agent, context),
      model,
      prompt: [...prompt],
      tools: [...tools],
      settings,
    };
    report(call);
    return (answered) =>
      void answered.then(
        (answer) => report({ ...call, answer }),
        (error: unknown) => report({ ...call, error: providerErrorText(error) }),
      );
  };
}

function listenersAround(context: RunContext): ReadonlySet<ModelCallListener> {
  const listeners = new Set<ModelCallListener>();
  for (let run: RunContext | undefined = context; run; run = run.parent)
    if (run.modelListener && !run.finished) listeners.add(run.modelListener);
  return listeners;
}
