// What callers hand in, checked once at the door.
import { z } from 'zod';
import { Agent3Error } from './agent3-error.ts';

const amount = z.number().min(0).max(1_000_000);
const secret = z.string().min(1).max(10_000);
const scheme = z.string().max(200).optional();

const credential = z.discriminatedUnion('type', [
  z.object({ type: z.literal('bearer'), token: secret, scheme }),
  z.object({ type: z.literal('apiKey'), key: secret, scheme }),
  z.object({ type: z.literal('basic'), username: z.string().max(1_000), password: secret, scheme }),
  z.object({
    type: z.literal('oauth2'),
    clientId: z.string().min(1).max(1_000),
    clientSecret: secret,
    tokenUrl: z.url({ protocol: /^https?$/ }).optional(),
    scopes: z.array(z.string().max(500)).max(100).optional(),
    scheme,
  }),
]);

export const registration = z
  .object({
    cardUrl: z.string().max(2_000).optional(),
    card: z.record(z.string(), z.unknown()).optional(),
    price: z
      .object({
        perCall: amount.optional(),
        perMinute: amount.optional(),
        perToken: amount.optional(),
        currency: z.string().regex(/^[A-Z]{3}$/, { error: 'must be like USD' }),
      })
      .optional(),
    rateLimit: z.object({ calls: z.int().min(1).max(1_000_000), perSeconds: z.int().min(1).max(86_400) }).optional(),
    tags: z.array(z.string().min(1).max(50)).max(20).optional(),
    idempotent: z.boolean().optional(),
    credentials: z.array(credential).max(10).optional(),
  })
  .refine(({ cardUrl, card }) => (cardUrl === undefined) !== (card === undefined), {
    error: 'give either cardUrl or card',
  });

export const feedback = z.object({
  agentId: z.string(),
  rating: z.number().min(1).max(5),
  feedback: z.string().max(10_000),
  receipt: z.string().max(500),
});

/** PostgreSQL refuses the character that ends a string, so nothing is ever kept under such a name. */
export function canBeKey(text: string): boolean {
  return !text.includes('\0');
}

/** The messages name fields and rules, never what was given: that may be a secret. */
export function inputChecked<Output>(schema: z.ZodType<Output>, input: unknown): Output {
  const { success, data, error } = schema.safeParse(input);
  if (success) return data;
  const problems = error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || 'input'}: ${message}`);
  throw new Agent3Error('INPUT_INVALID', problems.join('; '));
}
