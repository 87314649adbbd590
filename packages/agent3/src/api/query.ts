// Converts query strings to the input of the request schemas.
import type { z } from 'zod';
import { checkInput } from '../base/check-input.ts';
import { callLogRequest, searchRequest } from '../base/requests.ts';

/** Reads `?query=…&tags=a,b&verified=true`; the web pages use the same parameters. */
export function searchQuery(parameters: URLSearchParams): z.output<typeof searchRequest> {
  const { query = '', limit, cursor, protocols, tags, ...filters } = parseQuery(parameters);
  const lists = { ...listOf('protocols', protocols), ...listOf('tags', tags) };
  return checkInput(searchRequest, {
    query: String(query),
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor: String(cursor) }),
    filters: { ...filters, ...lists },
  });
}

/** Names the hubs that a search has passed. */
export const VIA = 'agent3-via';
const MAX_VIA = 10;

export function viaIn(headers: Headers): { via?: readonly string[] } {
  const text = headers.get(VIA);
  if (text === null) return {};
  const via = text.split(',').map((id) => id.trim());
  return { via: via.filter((id) => id !== '').slice(-MAX_VIA) };
}

function listOf(name: string, value: unknown): Record<string, string[]> {
  if (value === undefined) return {};
  const parts = String(value)
    .split(',')
    .map((part) => part.trim());
  return { [name]: parts.filter((part) => part !== '') };
}

export function callLogQuery(parameters: URLSearchParams): z.output<typeof callLogRequest> {
  return checkInput(callLogRequest, parseQuery(parameters));
}

const STRING_PARAMETERS = ['query', 'cursor', 'protocols', 'tags', 'agentId', 'userAgentId', 'caller', 'kind'];

/** Parses numbers and booleans, and drops empty values. */
export function parseQuery(parameters: URLSearchParams): Record<string, unknown> {
  const pairs = [...parameters].filter(([, value]) => value !== '');
  return Object.fromEntries(
    pairs.map(([name, value]) => [name, STRING_PARAMETERS.includes(name) ? value : parseValue(value)]),
  );
}

function parseValue(value: string): unknown {
  if (value === 'true' || value === 'false') return value === 'true';
  const number = Number(value);
  return Number.isFinite(number) ? number : value;
}
