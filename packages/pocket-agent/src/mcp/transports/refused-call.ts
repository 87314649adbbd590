// Answers to tool calls in responses with status 400 or 404, with which servers also refuse an unknown session.
import { type JSONRPCMessage, SdkHttpError } from '@modelcontextprotocol/client';
import { readMessage } from './message-lines.ts';

/** The code that the official servers send with status 404. */
const SESSION_NOT_FOUND = -32_001;

/** A JSON-RPC answer in a refusal. If it has the id of the call, the tool may have run. */
export function answerIn(error: unknown, call: JSONRPCMessage): JSONRPCMessage | undefined {
  if (!('id' in call) || !('method' in call) || call.method !== 'tools/call') return undefined;
  if (!(error instanceof SdkHttpError)) return undefined;
  const { status, text } = error.data;
  if (status !== 400 && status !== 404) return undefined;
  const { id } = call;
  const message = messageIn(String(text));
  if (!message || !('id' in message) || 'method' in message || `${message.id}` !== `${id}`) return undefined;
  return status === 404 && 'error' in message && isUnknownSession(message.error) ? undefined : { ...message, id };
}

function messageIn(text: string): JSONRPCMessage | undefined {
  try {
    return readMessage(text);
  } catch {
    return undefined; // JSON, but not JSON-RPC
  }
}

/** Some servers send this with the id of the call. */
function isUnknownSession({ code, message }: { code: number; message: string }): boolean {
  return code === SESSION_NOT_FOUND || /^session not found/i.test(message);
}
