// The checks of one run: each that fails becomes a sentence.
import { printable } from '@pocket-agent/kit';
import { checkForeign, type Usage } from 'pocket-agent';
import { type Checks, listOf } from './eval-file.ts';

/** What a run did. */
export interface Outcome {
  /** Text, or the value of an agent with an output. */
  answer: unknown;
  /** The names of the tools that the model called, in order. */
  toolCalls: readonly string[];
  usage: Usage;
  /** The run had the limits of the case. The agent of a module has its own. */
  isLimited: boolean;
}

/** Without `graded`, which needs a model. */
export async function failedChecks(checks: Checks, outcome: Outcome, signal: AbortSignal): Promise<string[]> {
  const { toolCalls, usage, isLimited } = outcome;
  const text = answerText(outcome.answer);
  const absent = listOf(checks.contains).filter((part) => !text.includes(part));
  const forbidden = (checks.notTools ?? []).filter((name) => toolCalls.includes(name));
  return [
    ...absent.map((part) => `The answer does not contain ${JSON.stringify(part)}.`),
    ...(await patternFailures(listOf(checks.matches), text, signal)),
    ...(checks.schema ? await schemaFailures(checks.schema, outcome.answer, signal) : []),
    ...(checks.tools ? orderFailures(checks.tools, toolCalls) : []),
    ...forbidden.map((name) => `The tool ${name} was called.`),
    ...(checks.maxCostUsd === undefined ? [] : costFailures(checks.maxCostUsd, usage.costUsd)),
    ...(checks.maxSteps === undefined || isLimited ? [] : stepFailures(checks.maxSteps, usage.modelCalls)),
  ];
}

export function answerText(answer: unknown): string {
  return typeof answer === 'string' ? answer : JSON.stringify(answer);
}

/** Tested in another process, like schemas, because some patterns backtrack almost forever. */
async function patternFailures(patterns: readonly string[], text: string, signal: AbortSignal): Promise<string[]> {
  const verdicts = patterns.map(async (pattern) => {
    const verdict = await checkForeign({ schema: { pattern }, value: text, origin: 'eval', signal });
    if ('fits' in verdict) return [];
    if ('problem' in verdict) return [`The answer does not match /${pattern}/.`];
    return [`Whether the answer matches /${pattern}/ could not be checked: ${reasonOf(verdict)}`];
  });
  return (await Promise.all(verdicts)).flat();
}

async function schemaFailures(schema: object, answer: unknown, signal: AbortSignal): Promise<string[]> {
  const value = typeof answer === 'string' ? parsed(answer) : { json: answer };
  if (!value) return ['The answer is not JSON.'];
  const verdict = await checkForeign({ schema, value: value.json, origin: 'eval', signal });
  if ('fits' in verdict) return [];
  if ('problem' in verdict) return [`The answer does not fit the schema: ${printable(verdict.problem, 500)}`];
  return [`The schema could not be checked: ${reasonOf(verdict)}`];
}

function reasonOf(verdict: { invalid: string } | { unchecked: string }): string {
  return 'invalid' in verdict ? verdict.invalid : verdict.unchecked;
}

/** Models often put JSON into a code block. */
function parsed(answer: string): { json: unknown } | undefined {
  const [, inBlock = answer] = /^\s*```(?:json)?\s*\n(.*?)\n```\s*$/s.exec(answer) ?? [];
  try {
    return { json: JSON.parse(inBlock) };
  } catch {
    return undefined;
  }
}

function orderFailures(expected: readonly string[], called: readonly string[]): string[] {
  let from = 0;
  for (const name of expected) {
    const index = called.indexOf(name, from);
    if (index < 0) {
      const order = expected.length > 1 ? ` in the order ${expected.join(', ')}` : '';
      return [`The tool ${name} was not called${order}; called: ${called.join(', ') || 'none'}.`];
    }
    from = index + 1;
  }
  return [];
}

function costFailures(maxCostUsd: number, costUsd: number | undefined): string[] {
  if (costUsd === undefined) return ['The cost is unknown.'];
  return costUsd <= maxCostUsd ? [] : [`The run cost $${costUsd.toFixed(6)}, more than $${maxCostUsd}.`];
}

function stepFailures(maxSteps: number, modelCalls: number): string[] {
  return modelCalls <= maxSteps ? [] : [`The run needed ${modelCalls} model calls, more than ${maxSteps}.`];
}
