// Runs one case with one variant, and checks the outcome. Each run has an agent of its own.
import { errorText, isPocketError, type Logger, PocketError, type PocketErrorCode, printable } from '@pocket-agent/kit';
import type { Approve, PocketAgent, RunOptions, Usage } from 'pocket-agent';
import { fileInput } from '../files/images.ts';
import type { AgentRequest } from '../setup/agent-request.ts';
import { makeAgent } from '../setup/make-agent.ts';
import { settingsFor } from '../setup/model-settings.ts';
import { loadSources } from '../setup/tool-sources.ts';
import { answerText, failedChecks } from './checks.ts';
import type { EvalCase } from './eval-file.ts';
import { grade } from './grader.ts';
import type { ModuleVariant, RequestedVariant, Variant } from './variants.ts';

/** One run of a case. */
export interface CaseRun {
  case: string;
  variant: string;
  /** Counted from 1. */
  repeat: number;
  passed: boolean;
  /** Why it did not pass, one sentence each. */
  failures: readonly string[];
  /** Undefined if the run failed. */
  answer?: string;
  toolCalls: readonly string[];
  durationMs: number;
  usage: Usage;
  /** What grading used. */
  grading?: Usage;
}

export interface CaseOptions {
  approve: Approve | undefined;
  logger: Logger;
  signal: AbortSignal;
  /** Problems of tool folders and skills. */
  tell(line: string): void;
}

export async function runCase(
  variant: Variant,
  { repeat, ...evalCase }: EvalCase & { repeat: number },
  options: CaseOptions,
): Promise<CaseRun> {
  const planned = { variant, repeat, evalCase };
  await using agent = await ('make' in variant ? madeBy(variant) : agentFor(variant, evalCase, options));
  if (!('make' in variant) || variant.model === undefined) return await runWith(agent, planned, options);
  await using fork = agent.fork({ llmModel: variant.model });
  return await runWith(fork, planned, options);
}

interface PlannedCase {
  variant: Variant;
  repeat: number;
  evalCase: EvalCase;
}

async function runWith(
  agent: PocketAgent<unknown>,
  { variant, repeat, evalCase }: PlannedCase,
  options: CaseOptions,
): Promise<CaseRun> {
  const { signal, approve } = options;
  const toolCalls: string[] = [];
  const isMade = 'make' in variant;
  const profile = [evalCase.profile, isMade ? variant.profile : undefined].filter((each) => each !== undefined);
  const given = { ...(profile.length > 0 ? { profile } : {}), ...(isMade && approve ? { approve } : {}) };
  const ran = await answerOf(agent, evalCase, { signal, toolCalls, given });
  const run = {
    case: evalCase.name,
    variant: variant.name,
    repeat,
    toolCalls,
    durationMs: ran.durationMs,
    usage: agent.totals.usage,
  };
  if ('failure' in ran) return { ...run, passed: false, failures: [ran.failure] };
  const answer = answerText(ran.answer);
  const failures = await failedChecks(evalCase.checks, { ...run, answer: ran.answer, isLimited: !isMade }, signal);
  const graded = await gradeOf(evalCase, { answer, variant, agent }, options);
  const all = [...failures, ...(graded?.failures ?? [])];
  return { ...run, passed: all.length === 0, failures: all, answer, ...(graded ? { grading: graded.usage } : {}) };
}

async function madeBy({ name, make }: ModuleVariant): Promise<PocketAgent<unknown>> {
  const made = await make();
  if (typeof made?.run === 'function') return made;
  throw new PocketError('CONFIG_INVALID', `The function for the agent ${name} does not return an agent.`);
}

async function agentFor(
  variant: RequestedVariant,
  evalCase: EvalCase,
  { logger, signal, tell, approve }: CaseOptions,
): Promise<PocketAgent<unknown>> {
  const request = limitedRequest(variant.request, evalCase);
  const { sources, problems, warnings } = await loadSources(request, { logger, signal });
  for (const line of [...problems, ...warnings]) tell(line);
  return makeAgent(request, {
    model: variant.model,
    sources,
    ...(evalCase.files.length > 0 ? { allowImages: true } : {}),
    ...(approve ? { approver: { approve, elicit: undefined, answersServers: true } } : {}),
    logger,
  });
}

/** The limits of the case stop a run that exceeds them. */
function limitedRequest(request: AgentRequest, { checks: { maxSteps, maxCostUsd } }: EvalCase): AgentRequest {
  const limits = {
    ...request.limits,
    ...(maxSteps === undefined ? {} : { maxSteps: Math.min(maxSteps, request.limits.maxSteps ?? maxSteps) }),
    ...(maxCostUsd === undefined ? {} : { maxCostUsd: Math.min(maxCostUsd, request.limits.maxCostUsd ?? maxCostUsd) }),
  };
  return { ...request, limits };
}

type Answered = ({ answer: unknown } | { failure: string }) & { durationMs: number };

async function answerOf(
  agent: PocketAgent<unknown>,
  { prompt, files }: EvalCase,
  { signal, toolCalls, given }: { signal: AbortSignal; toolCalls: string[]; given: RunOptions },
): Promise<Answered> {
  let startedAt = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAt);
  try {
    await agent.listTools(signal); // servers are started before the time counts
    startedAt = performance.now();
    const answer = await agent.run(
      { text: prompt, files: files.map(fileInput) },
      {
        signal,
        streaming: false,
        ...given,
        onEvent: (event) => void (event.type === 'tool_call' && toolCalls.push(event.data.toolName)),
      },
    );
    return { answer, durationMs: durationMs() };
  } catch (error) {
    signal.throwIfAborted();
    if (concernsEveryRun(error)) throw error;
    return { failure: `The run failed: ${errorText(error)}`, durationMs: durationMs() };
  }
}

const setupCodes: readonly PocketErrorCode[] = [
  'CONFIG_INVALID',
  'MODEL_UNKNOWN',
  'MODEL_KEY_MISSING',
  'MODEL_PACKAGE_MISSING',
];

/** Errors of the setup, which would occur again in every run. */
export function concernsEveryRun(error: unknown): boolean {
  return isPocketError(error) && (setupCodes.includes(error.code) || error.details.refused !== undefined);
}

interface Graded {
  failures: string[];
  usage?: Usage;
}

async function gradeOf(
  { prompt, checks }: EvalCase,
  { answer, variant, agent }: { answer: string; variant: Variant; agent: PocketAgent<unknown> },
  { signal, logger }: CaseOptions,
): Promise<Graded | undefined> {
  if (!checks.graded) return undefined;
  const { question, model: grader = variant.model } = checks.graded;
  try {
    const model = grader ?? (await agent.languageModel());
    const modelSettings = 'request' in variant && grader ? settingsFor(variant.request, grader) : undefined;
    const grading = { model, modelSettings, question, prompt, answer };
    const { pass, reason, usage } = await grade(grading, { signal, logger });
    return { failures: pass ? [] : [`Graded as failed: ${printable(reason, 500)}`], usage };
  } catch (error) {
    signal.throwIfAborted();
    if (concernsEveryRun(error)) throw error;
    return { failures: [`Grading failed: ${errorText(error)}`] };
  }
}
