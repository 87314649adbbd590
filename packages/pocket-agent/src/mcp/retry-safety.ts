// After a failed request: was the connection lost, and may the same call be sent again?
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, type Tool } from '@modelcontextprotocol/client';
import { errorText, isPocketError } from '@pocket-agent/kit';
import { BegunCallError } from './wire/calling-client.ts';
import { STREAM_ENDED } from './wire/http-transport.ts';

/** no-loss: an ordinary error. repeat: surely never run, or harmless to run twice. unsafe: nobody knows. */
type RetrySafety = 'no-loss' | 'repeat' | 'unsafe';

export function retrySafety(error: unknown, tool: Tool | undefined): RetrySafety {
  const hasBegun = error instanceof BegunCallError;
  const reason = hasBegun ? error.cause : error;
  const isRefused = wasRefused(reason);
  if (!isRefused && !wasCutOff(reason)) return 'no-loss';
  return (isRefused && !hasBegun) || isHarmlessTwice(tool) ? 'repeat' : 'unsafe';
}

/** After an answer that could not be read. */
export function safetyAfterAnswer(tool: Tool | undefined): RetrySafety {
  return isHarmlessTwice(tool) ? 'repeat' : 'unsafe';
}

/** Other requests than calls of tools only read. */
export function isHarmlessTwice(tool: Tool | undefined): boolean {
  return !tool || tool.annotations?.readOnlyHint === true || tool.annotations?.idempotentHint === true;
}

/** The server did not take the request at all: it knows no such session, or nothing listens there. */
function wasRefused(error: unknown): boolean {
  if (error instanceof SdkHttpError) {
    const { status, text } = error.data;
    if (status === 404) return !/-32601/.test(String(text)); // in the 2026 era also the answer to an unknown method
    // some servers answer 400 for a session of their former life
    return status === 400 && /session/i.test(String(text));
  }
  if (isPocketError(error, 'MCP_CONNECT_FAILED')) return true; // a child that ended before the request could be written
  // what the server itself says is an answer, whatever words it uses
  if (!(error instanceof Error) || error instanceof ProtocolError) return false;
  return (
    /ECONNREFUSED/.test(errorText(error)) ||
    /^Not connected$|^Error POSTing to endpoint \(HTTP 404\)/.test(error.message)
  );
}

/** Nothing listens at the address, or what did so has just gone. */
export function isUnreachable(error: unknown): boolean {
  return /ECONNREFUSED|ECONNRESET|EPIPE|other side closed|socket hang up|terminated/.test(errorText(error));
}

function wasCutOff(error: unknown): boolean {
  if (error instanceof ProtocolError) return error.code === STREAM_ENDED;
  if (error instanceof SdkHttpError) return isOfGateway(error.data.status);
  if (error instanceof SdkError)
    return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected;
  return error instanceof TypeError && /fetch failed|terminated/i.test(error.message);
}

/** What proxies answer that have lost their server, or waited too long for it. */
function isOfGateway(status: number): boolean {
  return (status >= 502 && status <= 504) || (status >= 520 && status <= 527);
}
