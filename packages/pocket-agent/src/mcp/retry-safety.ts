// After a failed request: was the connection lost, and may the same call be sent again?
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, type Tool } from '@modelcontextprotocol/client';
import { errorText, isPocketError } from '@pocket-agent/kit';
import { isRepeatable } from '../access/capabilities.ts';
import { STREAM_ENDED } from './transports/http-transport.ts';

const HEADER_MISMATCH = -32_020;

/** no-loss: an ordinary error. repeat: the call did not run, or is harmless to run twice. unsafe: it may have run. */
type RetrySafety = 'no-loss' | 'repeat' | 'unsafe';

/** `hasStarted`: the server has run a part of the call, and asked something. */
export function retrySafety(error: unknown, tool?: Tool, hasStarted = false): RetrySafety {
  const isRefused = wasRefused(error);
  if (!isRefused && !wasCutOff(error)) return 'no-loss';
  return (isRefused && !hasStarted) || isRepeatable(tool) ? 'repeat' : 'unsafe';
}

/** After an answer that could not be read: the call has run. */
export function safetyAfterAnswer(tool: Tool | undefined): RetrySafety {
  return isRepeatable(tool) ? 'repeat' : 'unsafe';
}

/** The server did not accept the request: it does not know the session, or nothing listens there. */
function wasRefused(error: unknown): boolean {
  if (error instanceof SdkHttpError) {
    const { status, text } = error.data;
    if (status === 404) return !/-32601/.test(String(text)); // in the 2026 era also the answer to an unknown method
    // some servers answer 400 for a session from before their restart
    return status === 400 && /session/i.test(String(text));
  }
  // a child process that ended before the request was written
  if (isPocketError(error, 'MCP_CONNECT_FAILED')) return true;
  // an error that the server sends is an answer, whatever its text
  if (!(error instanceof Error) || error instanceof ProtocolError) return false;
  return /ECONNREFUSED/.test(errorText(error)) || error.message === 'Not connected';
}

/** Nothing listens at the address, or the server has just closed the connection. */
export function isUnreachable(error: unknown): boolean {
  return /ECONNREFUSED|ECONNRESET|EPIPE|other side closed|socket hang up|terminated/.test(errorText(error));
}

function wasCutOff(error: unknown): boolean {
  if (error instanceof ProtocolError) return error.code === STREAM_ENDED;
  if (error instanceof SdkHttpError) return isGatewayStatus(error.data.status);
  if (error instanceof SdkError)
    return error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.NotConnected;
  return error instanceof TypeError && /fetch failed|terminated/i.test(error.message);
}

/** Statuses of proxies that have lost their server or waited too long for it. */
function isGatewayStatus(status: number): boolean {
  return (status >= 502 && status <= 504) || (status >= 520 && status <= 527);
}

/** The server has not run the call: since the tool was listed, some of its arguments must be sent as headers too. */
export function isHeaderMismatch(error: unknown): boolean {
  return error instanceof ProtocolError && error.code === HEADER_MISMATCH;
}
