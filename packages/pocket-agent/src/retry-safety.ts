// After a failed request: was the connection lost, and may the same call be sent again?
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, type Tool } from '@modelcontextprotocol/client';
import { errorText, isPocketError } from './errors.ts';
import { STREAM_ENDED } from './http-transport.ts';

/** no-loss: an ordinary error. repeat: surely never run, or harmless to run twice. unsafe: nobody knows. */
type RetrySafety = 'no-loss' | 'repeat' | 'unsafe';

export function retrySafety(error: unknown, tool: Tool | undefined): RetrySafety {
  if (wasRefused(error)) return 'repeat';
  if (!wasCutOff(error)) return 'no-loss';
  const harmless = !tool || tool.annotations?.readOnlyHint || tool.annotations?.idempotentHint;
  return harmless ? 'repeat' : 'unsafe';
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
  if (error instanceof SdkHttpError) return error.data.status === 502 || error.data.status === 503;
  if (error instanceof SdkError)
    return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected;
  return error instanceof TypeError && /fetch failed|terminated/i.test(error.message);
}
