// Requests and answers of a model as plain JSON for recordings: no headers, no secrets, no random ids.
import { isDeepStrictEqual } from 'node:util';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { isRecord, redactData, sha256 } from '@pocket-agent/kit';
import { REDACTED } from '../base/redact.ts';
import { ACCOUNT_TAG } from '../model/account-parts.ts';
import { knownProviders } from '../providers/provider-table.ts';

/** A request as recordings keep it. `tools` is an object by name, because servers may list them in any order. */
export interface RecordedRequest {
  prompt: readonly unknown[];
  tools?: Readonly<Record<string, unknown>>;
  readonly [setting: string]: unknown;
}

/** Files in requests are only compared, so a hash is enough. Files in answers are kept. */
export function recordableRequest(options: LanguageModelV4CallOptions, secrets: readonly string[]): RecordedRequest {
  const { abortSignal: _, headers: __, includeRawChunks: ___, tools, ...request } = options;
  const byName = tools && Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  const copy = new Copier({ secrets, file: fileHash }).copy({ ...request, ...(byName ? { tools: byName } : {}) });
  return JSON.parse(JSON.stringify(copy)); // as it will be read from the file
}

/** A copy of an answer, or of a request that was recorded elsewhere, without the secrets that are known here. */
export function recordable<Value>(value: Value, secrets: readonly string[]): Value {
  return new Copier({ secrets, file: base64Of, callId: (id) => id }).copy(value) as Value;
}

interface CopierOptions {
  /** Secrets other than those of the environment. */
  secrets: readonly string[];
  file(data: string | Uint8Array): string;
  callId?(id: string): string;
}

class Copier {
  readonly #file: (data: string | Uint8Array) => string;
  readonly #callId: (id: string) => string;
  readonly #callIds = new Map<string, string>();
  readonly #secrets: readonly string[];

  constructor({ secrets, file, callId }: CopierOptions) {
    this.#secrets = longestFirst([...secrets, ...environmentSecrets()]);
    this.#file = file;
    this.#callId = callId ?? ((id) => this.#numbered(id));
  }

  copy(value: unknown, key = ''): unknown {
    if (typeof value === 'string') return key === 'toolCallId' ? this.#callId(value) : this.#text(value, key);
    if (typeof value === 'number') return this.#text(String(value), key) === REDACTED ? REDACTED : value;
    if (value instanceof Uint8Array) return this.#file(value);
    if (value instanceof URL) return this.#text(value.href, key);
    if (value instanceof Date) return value.toISOString();
    if (Array.isArray(value)) return value.map((item) => this.copy(item, key));
    if (!isRecord(value)) return value;
    if (value.type === 'tool-call' && typeof value.input === 'string') {
      const { input, ...call } = value;
      return { ...Object(this.copy(call)), input: this.#json(input) };
    }
    const entries = Object.entries(value).filter(([name, item]) => item !== undefined && name !== ACCOUNT_TAG);
    return Object.fromEntries(
      entries.map(([name, item]) => {
        const isFile = name === 'data' && value.type === 'data' && typeof item === 'string';
        return [this.#text(name), isFile ? this.#file(item) : this.copy(item, name)];
      }),
    );
  }

  /** Ids are random for models that give no id, or the same id twice. */
  #numbered(id: string): string {
    const known = this.#callIds.get(id) ?? `call-${this.#callIds.size + 1}`;
    this.#callIds.set(id, known);
    return known;
  }

  /** Arguments stay valid JSON, and stay as they were written if they contain no secret. */
  #json(text: string): string {
    try {
      const before: unknown = JSON.parse(text);
      const after = this.copy(before);
      return isDeepStrictEqual(before, after) ? text : JSON.stringify(after);
    } catch (error) {
      if (error instanceof SyntaxError) return this.#text(text);
      throw error;
    }
  }

  #text(text: string, key = ''): string {
    const hidden = this.#secrets.reduce((left, secret) => left.replaceAll(secret, REDACTED), text);
    return String(redactData(hidden, key));
  }
}

function base64Of(data: string | Uint8Array): string {
  return typeof data === 'string' ? data : Buffer.from(data).toString('base64');
}

function fileHash(data: string | Uint8Array): string {
  const base64 = base64Of(data);
  return `sha256 ${sha256(base64)}, ${Buffer.byteLength(base64, 'base64')} bytes`;
}

/** Names of environment variables that usually contain a secret. */
const SECRET_NAME =
  /(?:^|_)(?:API_?KEY|KEY|TOKEN|PAT|SECRET|PASS|PASSWORD|PASSWD|PASSPHRASE|AUTH|CREDS|CREDENTIALS?)(?:_|$)|_PWD$/i;
/** Shorter values may be part of ordinary words. */
const MIN_SECRET_LENGTH = 8;

/** The values of environment variables that contain keys. */
function environmentSecrets(): string[] {
  const providerVariables = knownProviders.flatMap(({ keyVariables, insteadOfKey = [] }) => [
    ...keyVariables,
    ...insteadOfKey,
  ]);
  const names = new Set([...providerVariables, ...Object.keys(process.env).filter((name) => SECRET_NAME.test(name))]);
  return [...names].map((name) => process.env[name] ?? '').filter(({ length }) => length >= MIN_SECRET_LENGTH);
}

/** In this order, because one secret may contain another. */
function longestFirst(secrets: readonly string[]): string[] {
  return secrets.toSorted((one, other) => other.length - one.length);
}
