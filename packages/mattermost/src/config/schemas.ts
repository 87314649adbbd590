// Schemas of environment variables by kind. Messages continue the name of the variable and never contain a secret.
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { errorText } from '@pocket-agent/kit';
import { z } from 'zod';
import { type Profile, profiles } from '../base/access.ts';

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

const mustBe = (expected: string) => ({
  error: ({ input }: { input?: unknown }) => `is "${input}", but must be ${expected}`,
});

export const text = () => z.string();

export const required = (what: string) => z.string({ error: `is missing: ${what}` });

export const secret = () =>
  z.string().regex(/^[\x21-\x7e]+$/, 'contains spaces or characters that a header cannot carry; copy the token again');

export const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z
    .string()
    .toLowerCase()
    .pipe(z.enum(values, mustBe(`one of ${values.join(', ')}`)));

/** A list of these values, or `all`. */
export const severalOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z
    .string()
    .toLowerCase()
    .transform((value) => (value === 'all' ? [...values] : splitList(value)))
    .pipe(z.array(z.enum(values, mustBe(`all, or some of ${values.join(', ')}`))));

export const matching = (pattern: RegExp, example: string) =>
  z.string().refine((value) => pattern.test(value), mustBe(`like ${example}`));

export const flag = () =>
  z.stringbool({
    truthy: ['true', '1', 'yes', 'on'],
    falsy: ['false', '0', 'no', 'off'],
    ...mustBe('true or false'),
  });

export const number = (min: number, max: number) =>
  z
    .string()
    .refine((value) => Number(value) >= min && Number(value) <= max, mustBe(`a number from ${min} to ${max}`))
    .transform(Number);

export const integer = (min: number, max: number) =>
  number(min, max).refine(Number.isInteger, mustBe('a whole number'));

export const list = () => z.string().transform((value) => splitList(value));

export const jsonList = () =>
  z
    .string()
    .transform(parseJson)
    .pipe(z.array(z.string(), { error: 'must be a JSON list of strings, such as ["http://localhost:*"]' }));

/** The URL of Mattermost, without a trailing slash or the path of its API. */
export const mattermostUrl = () =>
  required('the URL of the Mattermost server, such as https://chat.example.com')
    .superRefine((value, { addIssue }) => {
      const url = parseUrl(value);
      if (!url) addIssue(`is "${value}", which is not an http or https URL such as https://chat.example.com`);
      else if (url.username !== '' || url.password !== '') addIssue('must not contain a user name or password');
      else if (url.search !== '' || url.hash !== '') addIssue('must end with the path of Mattermost, without ? or #');
    })
    .transform((value) => withoutSlash(value).replace(/\/api\/v\d+$/, ''));

/** A URL that users open in a browser: https, except on localhost. */
export const browserUrl = () =>
  required('the URL that browsers use')
    .refine((value) => {
      const url = parseUrl(value);
      return url?.protocol === 'https:' || (url !== undefined && LOCAL_HOSTS.includes(url.hostname));
    }, mustBe('an https URL (http only for localhost)'))
    .transform(withoutSlash);

/** Existing folders, separated like PATH or by commas. */
export const folders = () =>
  z.string().transform((value, { addIssue }) =>
    splitList(value, new RegExp(`[,${delimiter}]`)).map((folder) => {
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) addIssue(`"${folder}" is not a folder`);
      return resolve(folder);
    }),
  );

/** Reads a PEM file. */
export const certificates = () =>
  z.string().transform((path, { addIssue }) => {
    try {
      const pem = readFileSync(path, 'utf8');
      new X509Certificate(pem);
      return pem;
    } catch (error) {
      addIssue(`"${path}" is not a readable PEM file with certificates (${errorText(error)})`);
      return z.NEVER;
    }
  });

const MIN_TOKEN_LENGTH = 16;
const TOO_SHORT = `must have at least ${MIN_TOKEN_LENGTH} characters`;

/** A token that clients of the HTTP endpoint send, and its profile. */
export interface ClientToken {
  token: string;
  profile: Profile;
}

export const clientToken = () => secret().min(MIN_TOKEN_LENGTH, TOO_SHORT);

/** `reader=secret1,writer=secret2` */
export const clientTokens = () =>
  list().transform((entries, { addIssue }) =>
    entries.flatMap((entry, index): ClientToken[] => {
      const [name, ...rest] = entry.split('=');
      const token = rest.join('=');
      const profile = profiles.find((candidate) => candidate === name);
      if (profile === undefined || rest.length === 0) {
        addIssue(`entry ${index + 1} must be profile=token, with one of the profiles ${profiles.join(', ')}`);
        return [];
      }
      if (token.length < MIN_TOKEN_LENGTH) addIssue(`the token of entry ${index + 1} ${TOO_SHORT}`);
      return [{ token, profile }];
    }),
  );

function splitList(value: string, separator: string | RegExp = ','): string[] {
  const entries = value.split(separator).map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '');
}

function parseJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

function parseUrl(value: string): URL | undefined {
  const url = URL.parse(value);
  return url && ['http:', 'https:'].includes(url.protocol) ? url : undefined;
}

function withoutSlash(value: string): string {
  return value.replace(/\/+$/, '');
}
