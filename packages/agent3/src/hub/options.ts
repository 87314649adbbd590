// Reads and checks the settings of Agent3 from environment variables.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SigningKey } from '@pocket-agent/a2a/client';
import { type LogLevel, logLevels, unknownVariables } from '@pocket-agent/kit';
import { userDataFolder } from '@pocket-agent/kit/private-files';
import { z } from 'zod';
import { Agent3Error } from '../base/agent3-error.ts';
import type { ConfirmCalls } from '../mcp/consent.ts';
import type { PeerHub } from './federation.ts';

export interface Agent3Settings {
  /** A remote hub, instead of a registry in this process. */
  remote: { url: string; token: string | undefined } | undefined;
  databaseUrl: string | undefined;
  file: string;
  /** Holds the generated key of this hub; unused if a key is configured. */
  keyFile: string;
  secretKey: string | undefined;
  oldSecretKeys: readonly string[];
  tokenKey: string | undefined;
  allowHosts: readonly string[];
  trustedKeys: readonly SigningKey[];
  /** Rank by semantic similarity, too. */
  embeddings: boolean;
  confirm: ConfirmCalls;
  /** What one call may cost over MCP without a question. */
  dollarsPerCall: Amounts;
  /** `forAll` is the sum of all callers. */
  dollarsPerDay: Amounts;
  host: string;
  port: number;
  publicUrl: string | undefined;
  allowedHosts: readonly string[];
  isPrivate: boolean;
  admins: readonly string[];
  revoked: readonly string[];
  requireProof: boolean;
  peers: readonly PeerHub[];
  logLevel: LogLevel;
}

/** US dollars, as in `5,alice=1`. */
export interface Amounts {
  forAll: number | undefined;
  byOwner: ReadonlyMap<string, number>;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const MAX_DOLLARS = 1_000_000;

const list = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()])));
const webUrl = z.url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' });
const flag = z
  .enum(['1', '0', 'true', 'false'], { error: 'must be 1 or 0' })
  .default('0')
  .transform((text) => text === '1' || text === 'true');
const numberIn = (min: number, max: number) =>
  z
    .string()
    .transform(Number)
    .pipe(
      z.number({ error: 'must be a number' }).min(min, `must be at least ${min}`).max(max, `must be at most ${max}`),
    );

const amounts = list.transform((parts, context): Amounts => {
  const byOwner = new Map<string, number>();
  for (const part of parts) {
    const [, owner = '', amount = ''] = /^(?:([^=]+)=)?([\d.]+)$/.exec(part) ?? [];
    const dollars = amount === '' ? Number.NaN : Number(amount);
    if (Number.isFinite(dollars) && dollars <= MAX_DOLLARS && !byOwner.has(owner)) byOwner.set(owner, dollars);
    else
      context.addIssue({
        code: 'custom',
        message: 'must be an amount in US dollars such as 5, or 5,alice=1 with an amount for an owner',
      });
  }
  const forAll = byOwner.get('');
  byOwner.delete('');
  return { forAll, byOwner };
});

/** URLs of hubs, with a token as password if they are private: https://:a3_…@hub.example */
const peers = list.transform((parts, context): PeerHub[] =>
  parts.flatMap((part) => {
    const url = URL.parse(part);
    if (url && /^https?:$/.test(url.protocol)) {
      const token = decodeURIComponent(url.password || url.username);
      return [{ url: url.origin, ...(token === '' ? {} : { token }) }];
    }
    context.addIssue({ code: 'custom', message: 'must be URLs of hubs, separated by commas' });
    return [];
  }),
);

const environmentSchema = z.object({
  AGENT3_HUB_URL: webUrl.optional(),
  AGENT3_HUB_TOKEN: z.string().optional(),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, { error: 'must begin with postgres://' })
    .optional(),
  AGENT3_DB: z.string().optional(),
  AGENT3_SECRET_KEY: z
    .string()
    .min(12, 'must have at least 12 characters; openssl rand -base64 32 creates one')
    .optional(),
  AGENT3_SECRET_KEYS_OLD: list,
  AGENT3_TOKEN_KEY: z.string().min(16, 'must have at least 16 characters').optional(),
  AGENT3_ALLOW_HOSTS: list,
  AGENT3_TRUSTED_KEYS: z.string().optional(),
  AGENT3_EMBEDDINGS: flag,
  AGENT3_CONFIRM: z.enum(['never', 'paid', 'always'], { error: 'must be never, paid or always' }).default('paid'),
  AGENT3_DOLLARS_PER_CALL: amounts,
  AGENT3_DOLLARS_PER_DAY: amounts,
  AGENT3_HOST: z.string().default('127.0.0.1'),
  AGENT3_PORT: z
    .string()
    .regex(/^\d{1,5}$/, { error: 'must be a number from 0 to 65535' })
    .default('8333')
    .pipe(numberIn(0, 65_535)),
  AGENT3_PUBLIC_URL: webUrl.optional(),
  AGENT3_ALLOWED_HOSTS: list,
  AGENT3_PRIVATE: flag,
  AGENT3_ADMINS: list,
  AGENT3_REVOKED: list,
  AGENT3_PEERS: peers,
  AGENT3_REQUIRE_PROOF: flag,
  AGENT3_LOG_LEVEL: z.enum(logLevels, { error: `must be one of ${logLevels.join(', ')}` }).default('warn'),
});

/** Throws one error that lists every problem. It shows no values, which may be secrets. */
export function readSettings(environment: Environment): Agent3Settings {
  const variables = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const { success, data, error } = environmentSchema.safeParse(variables);
  const problems = (error?.issues ?? []).map(({ path, message }) => `${path.join('.')} ${message}`);
  const known = Object.keys(environmentSchema.shape);
  for (const { name, meant } of unknownVariables(environment, { prefix: 'AGENT3_', known })) {
    const hint = meant ? `did you mean ${meant}?` : 'agent3 --help lists all settings';
    problems.push(`${name} is not a setting of Agent3; ${hint}`);
  }
  const trustedKeys = readKeys(variables.AGENT3_TRUSTED_KEYS, problems);
  if (variables.AGENT3_HUB_TOKEN !== undefined && variables.AGENT3_HUB_URL === undefined)
    problems.push('AGENT3_HUB_TOKEN needs AGENT3_HUB_URL');
  if (success && !data.AGENT3_HUB_URL && !isBounded(data.AGENT3_DOLLARS_PER_CALL, data.AGENT3_DOLLARS_PER_DAY))
    problems.push('AGENT3_DOLLARS_PER_CALL needs AGENT3_DOLLARS_PER_DAY, because the number of calls is not limited');
  if (!success || problems.length > 0)
    throw new Agent3Error(
      'CONFIG_INVALID',
      `The settings are invalid:${problems.map((problem) => `\n- ${problem}`).join('')}`,
    );
  const folder = join(userDataFolder(environment), 'agent3');
  const publicUrl = data.AGENT3_PUBLIC_URL?.replace(/\/+$/, '');
  return {
    remote: data.AGENT3_HUB_URL ? { url: data.AGENT3_HUB_URL, token: data.AGENT3_HUB_TOKEN } : undefined,
    databaseUrl: data.AGENT3_DB === undefined ? data.DATABASE_URL : undefined,
    file: data.AGENT3_DB ?? join(folder, 'agent3.db'),
    keyFile: data.AGENT3_DB && data.AGENT3_DB !== ':memory:' ? `${data.AGENT3_DB}.key` : join(folder, 'agent3.db.key'),
    secretKey: data.AGENT3_SECRET_KEY,
    oldSecretKeys: data.AGENT3_SECRET_KEYS_OLD,
    tokenKey: data.AGENT3_TOKEN_KEY,
    allowHosts: data.AGENT3_ALLOW_HOSTS,
    trustedKeys,
    embeddings: data.AGENT3_EMBEDDINGS,
    confirm: data.AGENT3_CONFIRM,
    dollarsPerCall: data.AGENT3_DOLLARS_PER_CALL,
    dollarsPerDay: data.AGENT3_DOLLARS_PER_DAY,
    host: data.AGENT3_HOST,
    port: data.AGENT3_PORT,
    publicUrl,
    allowedHosts: [...data.AGENT3_ALLOWED_HOSTS, ...(publicUrl ? [new URL(publicUrl).hostname] : [])],
    isPrivate: data.AGENT3_PRIVATE,
    admins: data.AGENT3_ADMINS,
    revoked: data.AGENT3_REVOKED,
    requireProof: data.AGENT3_REQUIRE_PROOF,
    peers: data.AGENT3_PEERS,
    logLevel: data.AGENT3_LOG_LEVEL,
  };
}

/** Whether every limit per call comes with a limit per day. A remote hub has its own limits. */
function isBounded(perCall: Amounts, perDay: Amounts): boolean {
  if (perDay.forAll !== undefined) return true;
  return perCall.forAll === undefined && [...perCall.byOwner.keys()].every((owner) => perDay.byOwner.has(owner));
}

const keySet = z.object({ keys: z.array(z.looseObject({ kid: z.string() })) });

/** Reads a JWK set from a file. */
function readKeys(file: string | undefined, problems: string[]): SigningKey[] {
  if (file === undefined) return [];
  try {
    return keySet.parse(JSON.parse(readFileSync(file, 'utf8'))).keys;
  } catch {
    problems.push('AGENT3_TRUSTED_KEYS must be a file with a JWK set in which every key has a kid');
    return [];
  }
}
