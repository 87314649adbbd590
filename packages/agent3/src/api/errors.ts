// Errors as HTTP responses: `{ error: { code, message } }`, without internal details.

import { errorText, type Logger } from '@pocket-agent/kit';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { Agent3Error, type Agent3ErrorCode } from '../base/agent3-error.ts';

const statuses: Record<Agent3ErrorCode, ContentfulStatusCode> = {
  CONFIG_INVALID: 500,
  INPUT_INVALID: 400,
  AGENT_UNKNOWN: 404,
  CARD_INVALID: 422,
  CARD_UNAVAILABLE: 502,
  SIGNATURE_INVALID: 422,
  FORBIDDEN: 403,
  SECRET_KEY: 503,
  RECEIPT_INVALID: 422,
  ALREADY_RATED: 409,
  HUB_UNAVAILABLE: 502,
};

export interface Refusal {
  status: ContentfulStatusCode;
  code: string;
  message: string;
  headers?: Record<string, string>;
}

export function refusal({ status, code, message, headers = {} }: Refusal): Response {
  return Response.json({ error: { code, message } }, { status, headers });
}

export function refuse(details: Refusal): never {
  throw new HTTPException(details.status, { res: refusal(details) });
}

/** Unexpected errors are logged and answered without details. */
export function toRefusal(error: unknown, logger: Logger): Refusal {
  if (error instanceof Agent3Error) {
    const { code, message } = error;
    return { status: statuses[code], code, message };
  }
  logger.error('a request failed', { reason: errorText(error) });
  return { status: 500, code: 'INTERNAL', message: 'The hub failed; its log says why.' };
}
