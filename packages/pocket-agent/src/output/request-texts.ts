// Messages to the model, and errors for the program, about an answer that is missing or does not fit.
import { PocketError } from '@pocket-agent/kit';
import type { AnswerSchema } from './answer-schema.ts';

/** A longer list would cost more than it helps. */
const MAX_PROBLEMS = 20;
const MAX_SCHEMA_CHARACTERS = 20_000;
const SHOWN_PROBLEMS = 3;

/** After the work with tools. */
export function jsonRequest(schema: AnswerSchema): string {
  return `Now give this answer as JSON, without other text.${schemaText(schema)}`;
}

export function correctionText(problems: readonly string[], schema: AnswerSchema): string {
  return `Your answer does not fit:\n${listed(problems)}\nAnswer again with the whole corrected JSON, without other text.${schemaText(schema)}`;
}

export function toolCorrectionText(tool: string, problems: readonly string[]): string {
  return `This answer does not fit:\n${listed(problems)}\nCall ${tool} again with the whole corrected answer.`;
}

export function toolRequest(tool: string, problems: readonly string[], schema: AnswerSchema): string {
  return `Give the answer by calling ${tool}. Your text cannot be used:\n${listed(problems)}${schemaText(schema)}`;
}

interface InvalidOutput {
  problems: readonly string[];
  /** The text of the model. */
  text: string;
  retries: number;
}

export function invalidOutput({ problems, text, retries }: InvalidOutput): PocketError {
  const rest = problems.length - SHOWN_PROBLEMS;
  const shown = `${problems.slice(0, SHOWN_PROBLEMS).join('; ')}${rest > 0 ? ` (and ${rest} more)` : ''}`;
  const tries = retries === 0 ? '' : ` after ${retries} ${retries === 1 ? 'correction' : 'corrections'}`;
  const advice = 'Simplify the schema, raise output.retries, or use another model.';
  return new PocketError('OUTPUT_INVALID', `The answer does not fit the output schema${tries}: ${shown}. ${advice}`, {
    details: { text, problems: [...problems] },
  });
}

function listed(problems: readonly string[]): string {
  return problems
    .slice(0, MAX_PROBLEMS)
    .map((problem) => `- ${problem}`)
    .join('\n');
}

function schemaText({ asked }: AnswerSchema): string {
  const json = JSON.stringify(asked);
  return json.length > MAX_SCHEMA_CHARACTERS ? '' : `\nIt must fit this JSON Schema: ${json}`;
}
