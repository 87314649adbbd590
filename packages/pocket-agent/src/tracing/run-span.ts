// The span of one run of an agent.
import { errorTypeOf, hasTelemetry, inSpan, isInTrace, recordValue } from '@pocket-agent/kit';
import type { TracedContent } from './content.ts';
import { providerName } from './names.ts';

/** The part of a run that its span shows. */
export interface TracedRun {
  agent: { readonly name: string; readonly agentId: string; readonly roleDescription: string | undefined };
  /** A name, or a model object with both fields. */
  model: { provider: string; modelId: string };
  input: string;
  caller: string | undefined;
  /** The trace of the caller, if it passed one to this run. */
  traceparent: string | undefined;
  content: TracedContent | undefined;
  usage(): { inputTokens: number; outputTokens: number; costUsd: number | undefined };
}

const duration = {
  name: 'gen_ai.invoke_agent.duration',
  unit: 's',
  description: 'Duration of a single agent invocation',
  buckets: Array.from({ length: 13 }, (_, power) => 0.1 * 2 ** power),
};

/** Undefined for work that is part of another run. */
export function inRunSpan<Answer>(
  describe: (() => TracedRun) | undefined,
  work: () => Promise<Answer>,
): Promise<Answer> {
  if (!describe || !hasTelemetry()) return work();
  let run: TracedRun;
  const request = () => {
    run = describe();
    const { agent, model, input, caller, traceparent, content } = run;
    return {
      name: `invoke_agent ${agent.name}`,
      from: traceparent && !isInTrace(traceparent) ? { traceparent } : undefined,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': providerName(model.provider),
        'gen_ai.request.model': model.modelId,
        'gen_ai.agent.name': agent.name,
        'gen_ai.agent.id': agent.agentId,
        'gen_ai.agent.description': agent.roleDescription,
        'user.id': caller,
        'gen_ai.input.messages': content?.list([{ role: 'user', parts: [{ type: 'text', content: input }] }]),
      },
      showsErrors: content !== undefined,
    };
  };
  return inSpan(request, async (span) => {
    if (!span) return work();
    const { agent, content, usage } = run;
    const startedAt = performance.now();
    let failure: string | undefined;
    try {
      const answer = await work();
      const parts = [{ type: 'text', content: typeof answer === 'string' ? answer : JSON.stringify(answer) }];
      span.set({ 'gen_ai.output.messages': content?.list([{ role: 'assistant', parts, finish_reason: 'stop' }]) });
      return answer;
    } catch (error) {
      failure = errorTypeOf(error);
      throw error;
    } finally {
      const { inputTokens, outputTokens, costUsd } = usage();
      span.set({
        'gen_ai.usage.input_tokens': inputTokens,
        'gen_ai.usage.output_tokens': outputTokens,
        'pocket_agent.cost.usd': costUsd,
      });
      const seconds = (performance.now() - startedAt) / 1_000;
      recordValue(duration, seconds, { 'gen_ai.agent.name': agent.name, 'error.type': failure });
    }
  });
}
