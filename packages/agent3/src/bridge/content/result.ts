// Converts the answer of an agent to a result: limited in size, cleaned, without our secrets, and marked as untrusted.

import type { Part, TaskCollector } from '@pocket-agent/a2a/client';
import type { CallResult } from '../../base/calls.ts';
import { cleanLine, cleanText, type Redactor } from '../../base/clean-text.ts';

export interface ResultLimits {
  /** Text, data and files together. */
  bytes: number;
  parts: number;
}

const MAX_DEPTH = 50;

export function buildResult(
  collected: TaskCollector,
  limits: ResultLimits,
  redactor: Redactor,
): CallResult | undefined {
  const { message, artifacts, status, state } = collected;
  const isAnswer = message !== undefined || state === 'completed';
  // the texts of an artifact are chunks of one text; those of a message are separate
  const artifactParts = artifacts.map(({ name, parts }) =>
    parts.map((part) => ({ ...part, filename: part.filename ?? name })),
  );
  const answer = message ?? (artifactParts.length === 0 && isAnswer ? status?.message : undefined);
  const groups = answer ? answer.parts.map((part) => [part]) : artifactParts;
  if (groups.length === 0 && !isAnswer) return undefined;
  const result = new ResultBuilder(limits, redactor).build(groups);
  return collected.isTruncated ? { ...result, truncated: true } : result;
}

/** The text of the status message, at most 2,000 characters. */
export function statusText(collected: TaskCollector, redactor: Redactor): string | undefined {
  const text = textOf(collected.status?.message?.parts ?? [], redactor, 2000).trim();
  return text === '' ? undefined : text;
}

export function textOf(parts: readonly Part[], redactor: Redactor, maxLength: number): string {
  const text = parts.flatMap(({ text }) => text || []).join('\n');
  return redactor.beginning(text, maxLength * 2).slice(0, maxLength);
}

class ResultBuilder {
  readonly #redactor: Redactor;
  #remainingBytes: number;
  #remainingParts: number;
  #isTruncated = false;

  constructor({ bytes, parts }: ResultLimits, redactor: Redactor) {
    this.#remainingBytes = bytes;
    this.#remainingParts = parts;
    this.#redactor = redactor;
  }

  build(groups: readonly Part[][]): CallResult {
    const texts: string[] = [];
    const data: unknown[] = [];
    const files: NonNullable<CallResult['files']> = [];
    for (const group of groups) {
      const chunks: string[] = [];
      for (const part of group) {
        if (this.#remainingParts-- <= 0) this.#isTruncated = true;
        else if (part.text !== undefined) chunks.push(part.text);
        else if (part.data !== undefined) this.#data(part.data, data);
        else files.push(this.#file(part));
      }
      if (chunks.length > 0) texts.push(this.#text(chunks.join('')));
    }
    const text = texts.join('\n');
    return {
      untrusted: true,
      text,
      ...(data.length > 0 ? { data } : {}),
      ...(files.length > 0 ? { files } : {}),
      truncated: this.#isTruncated,
    };
  }

  #text(text: string): string {
    const maxLength = this.#remainingBytes * 4;
    if (maxLength < text.length) this.#isTruncated = true;
    const cleaned = this.#redactor.beginning(text, maxLength);
    const bytes = Buffer.byteLength(cleaned);
    if (bytes <= this.#remainingBytes) {
      this.#remainingBytes -= bytes;
      return cleaned;
    }
    this.#isTruncated = true;
    const kept = Buffer.from(cleaned)
      .subarray(0, this.#remainingBytes)
      .toString()
      .replace(/\ufffd+$/, '');
    this.#remainingBytes = 0;
    return kept;
  }

  #data(value: unknown, into: unknown[]): void {
    const cleaned = this.#cleanData(value, 0);
    if (this.#reserve(Buffer.byteLength(JSON.stringify(cleaned)))) into.push(cleaned);
  }

  #file({ filename, mediaType, raw, url }: Part): NonNullable<CallResult['files']>[number] {
    const file = {
      ...(filename ? { name: this.#line(filename) } : {}),
      mediaType: this.#line(mediaType ?? 'application/octet-stream'),
    };
    if (url !== undefined) return { ...file, ...(isWebUrl(url) ? { url: this.#redactor.redact(url) } : {}) };
    if (raw === undefined || !this.#reserve(raw.length)) return file;
    const bytes = Buffer.from(raw, 'base64');
    return this.#redactor.holdsSecret(bytes) ? file : { ...file, base64: bytes.toString('base64') };
  }

  #reserve(bytes: number): boolean {
    if (bytes > this.#remainingBytes) {
      this.#isTruncated = true;
      return false;
    }
    this.#remainingBytes -= bytes;
    return true;
  }

  #cleanData(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#clean(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= MAX_DEPTH) {
      this.#isTruncated = true;
      return null;
    }
    if (Array.isArray(value)) return value.map((item) => this.#cleanData(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [this.#clean(name), this.#cleanData(item, depth + 1)]),
    );
  }

  #clean(text: string): string {
    return this.#redactor.redact(cleanText(text));
  }

  #line(text: string): string {
    return cleanLine(text, 200, this.#redactor);
  }
}

/** The bridge shows URLs, but never fetches them. */
function isWebUrl(url: string): boolean {
  return url.length <= 2048 && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
