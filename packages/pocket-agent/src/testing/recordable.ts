// Requests and answers of a model as plain JSON for recordings: no headers, no secrets, no random ids.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { isRecord, redactData, sha256 } from '@pocket-agent/kit';
import { ACCOUNT_TAG } from '../model/account-parts.ts';
import { knownProviders } from '../providers/provider-table.ts';

/** A request as recordings keep it. `tools` is an object by name, because servers may list them in any order. */
export interface RecordedRequest {
  prompt: readonly unknown[];
  tools?: Readonly<Record<string, unknown>>;
  readonly [setting: string]: unknown;
}

/** Files in requests are only compared, so a hash is enough. Files in answers are kept. */
export function recordableRequest(options: LanguageModelV4CallOptions): RecordedRequest {
  const { abortSignal: _, headers: __, includeRawChunks: ___, tools, ...request } = options;
  const byName = tools && Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  const copy = new Copier(fileHash).copy({ ...request, ...(byName ? { tools: byName } : {}) });
  return JSON.parse(JSON.stringify(copy)); // as it will be read from the file
}

/** A copy of an answer, or of a request that was recorded elsewhere, without the secrets that are known here. */
export function recordable<Value>(value: Value): Value {
  return new Copier(base64Of, (id) => id).copy(value) as Value;
}

class Copier {
  readonly #file: (data: string | Uint8Array) => string;
  readonly #callId: (id: string) => string;
  readonly #callIds = new Map<string, string>();
  readonly #secrets = secretValues();

  constructor(file: (data: string | Uint8Array) => string, callId?: (id: string) => string) {
    this.#file = file;
    this.#callId = callId ?? ((id) => this.#numbered(id));
  }

  copy(value: unknown, key = ''): unknown {
    if (typeof value === 'string') return key === 'toolCallId' ? this.#callId(value) : this.#text(value, key);
    if (value instanceof Uint8Array) return this.#file(value);
    if (value instanceof URL) return this.#text(value.href, key);
    if (value instanceof Date) return value.toISOString();
    if (Array.isArray(value)) return value.map((item) => this.copy(item, key));
    if (!isRecord(value)) return value;
    const entries = Object.entries(value).filter(([name, item]) => item !== undefined && name !== ACCOUNT_TAG);
    return Object.fromEntries(
      entries.map(([name, item]) => {
        const isFile = name === 'data' && value.type === 'data' && typeof item === 'string';
        return [this.#text(name), isFile ? this.#file(item) : this.copy(item, name)];
      }),
    );
  }

  /** Some ids are random: of models that give none, or give one twice. */
  #numbered(id: string): string {
    const known = this.#callIds.get(id) ?? `call-${this.#callIds.size + 1}`;
    this.#callIds.set(id, known);
    return known;
  }

  #text(text: string, key = ''): string {
    const hidden = this.#secrets.reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text);
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
const SECRET_NAME = /(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(?:_|$)/i;
/** Shorter values may be part of ordinary words. */
const MIN_SECRET_LENGTH = 8;

/** The values of environment variables that contain keys, longest first: one may contain another. */
function secretValues(): string[] {
  const ofProviders = knownProviders.flatMap(({ keyVariables, insteadOfKey = [] }) => [
    ...keyVariables,
    ...insteadOfKey,
  ]);
  const names = new Set([...ofProviders, ...Object.keys(process.env).filter((name) => SECRET_NAME.test(name))]);
  const values = [...names].map((name) => process.env[name] ?? '').filter(({ length }) => length >= MIN_SECRET_LENGTH);
  return values.sort((one, other) => other.length - one.length);
}
