// One request to the fake: user, parameters and body.
import { ApiError, invalidBody, invalidUrl } from '../world/api-error.ts';
import type { User } from '../world/model.ts';
import type { World } from '../world/world.ts';

export interface Reply {
  status: number;
  /** Bytes, or a value sent as JSON. */
  body: unknown;
  headers?: Record<string, string>;
  /** Whether the response has an ETag and may be a 304. */
  etag?: boolean;
}

export type Fields = Record<string, unknown>;

export const idPattern = /^[a-zA-Z0-9]{26}$/;

/** The argument of a handler; `user` is a placeholder on routes without a session. */
export class Call {
  readonly world: World;
  readonly user: User;
  readonly params: Record<string, string>;
  readonly query: URLSearchParams;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: Buffer;

  constructor(parts: Pick<Call, 'world' | 'user' | 'params' | 'query' | 'headers' | 'body'>) {
    this.world = parts.world;
    this.user = parts.user;
    this.params = parts.params;
    this.query = parts.query;
    this.headers = parts.headers;
    this.body = parts.body;
  }

  param(name: string): string {
    return this.params[name] ?? '';
  }

  /** A user in the path, who must be the requesting user. */
  self(): User {
    return this.world.self(this.user, this.param('user_id'));
  }

  flag(name: string): boolean {
    return ['true', '1', 't', 'T', 'TRUE', 'True'].includes(this.query.get(name) ?? '');
  }

  /** A number of the query, as the real server reads it: invalid values become the default, large ones the maximum. */
  count(name: string, { fallback, most }: { fallback: number; most: number }): number {
    const given = this.query.get(name);
    const value = given === null || !/^\d+$/.test(given) ? fallback : Number(given);
    return Math.min(value, most);
  }

  /** One page of a list. */
  page<Item>(items: Item[]): Item[] {
    const page = this.count('page', { fallback: 0, most: Number.MAX_SAFE_INTEGER });
    const perPage = this.count('per_page', { fallback: 60, most: 200 });
    return items.slice(page * perPage, (page + 1) * perPage);
  }

  json(name: string): unknown {
    // PostgreSQL cannot store NUL characters
    if (this.body.includes('\\u0000'))
      throw new ApiError(500, 'app.post.save.app_error', { message: 'Unable to save.' });
    try {
      return JSON.parse(this.body.toString());
    } catch {
      throw invalidBody(name);
    }
  }

  fields(name: string): Fields {
    const value = this.json(name);
    if (!isFields(value)) throw invalidBody(name);
    return value;
  }

  strings(name: string): string[] {
    const value = this.json(name);
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) throw invalidBody(name);
    return value;
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A string field of a body; other types are rejected, as by Go's decoder. */
export function text(fields: Fields, name: string, fallback = ''): string {
  const value = fields[name];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'string') throw invalidBody(name);
  return value;
}

export function texts(fields: Fields, name: string): string[] | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) throw invalidBody(name);
  return value;
}

export function bool(fields: Fields, name: string): boolean | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'boolean') throw invalidBody(name);
  return value;
}

export function number(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number') throw invalidBody(name);
  return value;
}

export function idField(fields: Fields, name: string): string {
  const value = text(fields, name);
  if (!idPattern.test(value)) throw invalidBody(name);
  return value;
}

export function ok(body: unknown, { etag = false }: { etag?: boolean } = {}): Reply {
  return { status: 200, body, etag };
}

export function created(body: unknown): Reply {
  return { status: 201, body };
}

export const done: Reply = { status: 200, body: { status: 'OK' } };

/** Path parameters, checked first like in the real server. */
export function checkParams(params: Record<string, string>): void {
  for (const [name, value] of Object.entries(params)) {
    if (name.endsWith('_id') && !idPattern.test(value)) throw invalidUrl(name);
    if (name === 'emoji_name' && !/^[a-zA-Z0-9_+-]{1,64}$/.test(value)) throw invalidUrl(name);
    if (name === 'channel_name' && !/^[a-z0-9_-]{1,64}$/.test(value)) throw invalidUrl(name);
  }
}

export function noSuchRoute(path: string): ApiError {
  return new ApiError(404, 'api.context.404.app_error', {
    message: 'Sorry, we could not find the page.',
    detail: `There doesn't appear to be an api call for the url='${path}'.`,
  });
}
