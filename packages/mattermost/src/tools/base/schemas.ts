// Argument schemas shared by tools, and JSON Schemas of results.
import { z } from 'zod';
import { ID_PATTERN } from '../../client/id.ts';

export const id = () =>
  z.string().regex(ID_PATTERN, 'must be an id of 26 letters and digits; use resolve to get ids for names');
export const channelName = () =>
  z
    .string()
    .min(2)
    .max(64)
    .regex(/^[a-z0-9][a-z0-9_-]*$/);
export const username = () =>
  z
    .string()
    .min(1)
    .max(64)
    .regex(/^@?[A-Za-z0-9][A-Za-z0-9._-]*$/);
export const emojiName = () =>
  z
    .string()
    .min(1)
    .max(66)
    .regex(/^:?[A-Za-z0-9_+-]+:?$/)
    .describe('Without colons, e.g. thumbsup');
export const page = () => z.int().min(0).max(1_000_000).default(0);
export const perPage = () => z.int().min(1).max(200).default(60);
export const full = () => z.boolean().default(false).describe('Return complete objects');
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

export const time = () =>
  z
    .union([z.int().min(1_000_000_000_000).max(9_999_999_999_999), z.string().regex(ISO_TIME)])
    .refine(isValidTime, { error: ({ input }) => `"${input}" is not a valid time` })
    .describe('Milliseconds or ISO 8601 time');

/** `Date` alone accepts 30 February as 2 March. */
function isValidTime(value: number | string): boolean {
  if (typeof value === 'number') return true;
  const day = value.slice(0, 10);
  return !Number.isNaN(Date.parse(value)) && new Date(day).toISOString().startsWith(day);
}

export function toMilliseconds(value: number | string): number {
  return Number(new Date(value));
}

/** Says what is wrong with a time that must lie in the future. */
export function checkFuture(name: string, value: number | string | undefined): string | undefined {
  return value !== undefined && toMilliseconds(value) <= Date.now() ? `${name} must be in the future` : undefined;
}

export const message = () => z.string().max(16_383).describe('Markdown');

const link = z.string().max(2048);

/** Slack-style attachments without interactive buttons. */
export const attachments = () =>
  z
    .array(
      z
        .strictObject({
          id: z.int().min(0).max(1000),
          fallback: z.string(),
          color: z.string().regex(/^(good|warning|danger|#[0-9A-Fa-f]{6})$/),
          pretext: z.string(),
          text: z.string(),
          author_name: z.string(),
          author_link: link,
          author_icon: link,
          title: z.string(),
          title_link: link,
          fields: z.array(
            z.strictObject({
              title: z.string(),
              value: z.union([z.string(), z.number()]),
              short: z.boolean().default(false),
            }),
          ),
          image_url: link,
          thumb_url: link,
          footer: z.string().max(300),
          footer_icon: link,
          ts: z.union([z.string(), z.int().min(0).max(9_999_999_999)]),
        })
        .partial()
        .refine((one) => !one.author_link || one.author_name, { path: ['author_link'], error: 'needs author_name' })
        .refine((one) => !one.title_link || one.title, { path: ['title_link'], error: 'needs title' }),
    )
    .min(1)
    .max(20)
    .describe('Slack-style attachments');

export type JsonSchema = Readonly<Record<string, unknown>>;

const ANY: JsonSchema = {};
const STRING: JsonSchema = { type: 'string' };

/**
 * An object with a string `key` and optional fields of any type, because field types differ between Mattermost versions.
 * Additional fields are allowed.
 */
export function record(key: string, ...fields: string[]): JsonSchema {
  const properties = Object.fromEntries(fields.map((name) => [name, ANY]));
  return { type: 'object', properties: { [key]: STRING, ...properties }, required: [key] };
}

/** A page of items under `name`; `next` holds the arguments for the next page. */
export function pageOf(name: string, items: JsonSchema, more: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  const properties = {
    [name]: { type: 'array', items },
    truncated: { type: 'boolean' },
    next: { type: 'object' },
    ...more,
  };
  return { type: 'object', properties, required: [name, 'truncated'] };
}

export function listOf(name: string, items: JsonSchema): JsonSchema {
  return { type: 'object', properties: { [name]: { type: 'array', items } }, required: [name] };
}
