// The rules of arguments that many tools share, as they go over the wire; and the shapes of results.
import { z } from 'zod';
import { ID_PATTERN } from '../../client/id.ts';

export const id = () =>
  z.string().regex(ID_PATTERN, 'must be an id of 26 letters and digits; resolve turns names into ids');
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
    .describe('Without colons, such as thumbsup');
export const page = () => z.int().min(0).max(1_000_000).default(0);
export const perPage = () => z.int().min(1).max(200).default(60);
export const full = () => z.boolean().default(false).describe('Whole objects');
export const message = () => z.string().max(16_383).describe('Markdown');

const link = z.string().max(2048);

/** Slack-style; nothing that can be clicked to act. */
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
const TEXT: JsonSchema = { type: 'string' };

/**
 * An object with a text `key` and fields of any type, as Mattermost's own differ between versions. Only the key is
 * required; more fields may come.
 */
export function record(key: string, ...fields: string[]): JsonSchema {
  const properties = Object.fromEntries(fields.map((name) => [name, ANY]));
  return { type: 'object', properties: { [key]: TEXT, ...properties }, required: [key] };
}

/** A list under `name`; `next` holds the arguments for what follows. */
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
