// Converts query strings to the input of the request schemas.
import type { z } from 'zod';
import { inputChecked } from '../base/check-input.ts';
import { callLogRequest, searchRequest } from '../base/requests.ts';

/** Reads `?query=…&tags=a,b&verified=true`; the web pages use the same parameters. */
export function searchQuery(parameters: URLSearchParams): z.output<typeof searchRequest> {
  const { query = '', limit, cursor, protocols, tags, ...filters } = plainQuery(parameters);
  const lists = { ...listOf('protocols', protocols), ...listOf('tags', tags) };
  return inputChecked(searchRequest, {
    query: String(query),
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor: String(cursor) }),
    filters: { ...filters, ...lists },
  });
}

function listOf(name: string, value: unknown): Record<string, string[]> {
  if (value === undefined) return {};
  const parts = String(value)
    .split(',')
    .map((part) => part.trim());
  return { [name]: parts.filter((part) => part !== '') };
}

export function callLogQuery(parameters: URLSearchParams): z.output<typeof callLogRequest> {
  return inputChecked(callLogRequest, plainQuery(parameters));
}

const TEXTS = ['query', 'cursor', 'protocols', 'tags', 'agentId', 'userAgentId', 'caller'];

/** Parses numbers and booleans, and drops empty values. */
export function plainQuery(parameters: URLSearchParams): Record<string, unknown> {
  const given = [...parameters].filter(([, value]) => value !== '');
  return Object.fromEntries(given.map(([name, value]) => [name, TEXTS.includes(name) ? value : plain(value)]));
}

function plain(value: string): unknown {
  if (value === 'true' || value === 'false') return value === 'true';
  const number = Number(value);
  return Number.isFinite(number) ? number : value;
}
