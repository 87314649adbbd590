// Extensions of A2A: which ones a request uses, and the refusal of callers that lack a required one.
import { ExtensionSupportRequiredError } from '@a2a-js/sdk/errors';
import type { AgentExtension } from '../wire/agent-card.ts';
import { type RpcAnswer, rpcError } from './request-handler.ts';

const MAX_URIS = 100;
const HEADERS = { '1.0': 'a2a-extensions', '0.3': 'x-a2a-extensions' } as const;
const sending = new Set(['SendMessage', 'SendStreamingMessage', 'message/send', 'message/stream']);

/** The declared extensions that the caller wants to use. */
export function activeExtensions(headers: Headers, declared: readonly AgentExtension[]): string[] {
  const text = headers.get(HEADERS['1.0']) ?? headers.get(HEADERS['0.3']) ?? '';
  const wanted = new Set(text.split(',', MAX_URIS).map((uri) => uri.trim()));
  return declared.flatMap(({ uri }) => (wanted.has(uri) ? [uri] : []));
}

/** The error for a message of a caller that does not use all required extensions. */
export function extensionRefusal(
  method: unknown,
  active: readonly string[],
  declared: readonly AgentExtension[],
): RpcAnswer | undefined {
  const missing = declared.filter(({ uri, required }) => required && !active.includes(uri)).map(({ uri }) => uri);
  if (missing.length === 0 || !sending.has(String(method))) return undefined;
  const text = `This agent requires the extension ${missing.join(' and ')}: name it in the header A2A-Extensions.`;
  return { error: rpcError(new ExtensionSupportRequiredError(text)) };
}

/** Tells the caller which extensions are in use. */
export function withExtensions(response: Response, active: readonly string[], version: string): Response {
  if (active.length > 0) response.headers.set(HEADERS[version === '0.3' ? '0.3' : '1.0'], active.join(', '));
  return response;
}
