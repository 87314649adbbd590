// Answers and errors of a model as recordings keep them.
import type { LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { errorText, isPocketError, PocketError, type PocketErrorCode, withoutUndefined } from '@pocket-agent/kit';
import { fieldOf } from '../model/provider-errors.ts';
import { recordable } from './recordable.ts';

export type RecordedAnswer = Omit<LanguageModelV4GenerateResult, 'request' | 'response'> & {
  response?: { id?: string; modelId?: string };
};

export interface RecordedError {
  name: string;
  message: string;
  code?: PocketErrorCode;
  /** The HTTP status and body of the provider. */
  statusCode?: number;
  responseBody?: string;
}

/** Without headers, the raw request and response, and the time. */
export function recordedAnswer(
  { request: _, response, ...answer }: LanguageModelV4GenerateResult,
  secrets: readonly string[],
): RecordedAnswer {
  const { id, modelId } = response ?? {};
  const ids = withoutUndefined({ id, modelId });
  return recordable({ ...answer, ...(Object.keys(ids).length > 0 ? { response: ids } : {}) }, secrets);
}

export function recordedError(error: unknown, secrets: readonly string[]): RecordedError {
  const [statusCode, responseBody] = [fieldOf(error, 'statusCode'), fieldOf(error, 'responseBody')];
  const recorded = {
    name: error instanceof Error ? error.name : 'Error',
    message: errorText(error),
    ...(isPocketError(error) ? { code: error.code } : {}),
    ...(typeof statusCode === 'number' ? { statusCode } : {}),
    ...(typeof responseBody === 'string' ? { responseBody } : {}),
  };
  return recordable(recorded, secrets);
}

/** The error to throw in a replay. Never retried: the recording has its last attempt. */
export function replayedError({ message, code, ...fields }: RecordedError): Error {
  if (code !== undefined) return new PocketError(code, message);
  return Object.assign(new Error(message), fields, { isRetryable: false });
}
