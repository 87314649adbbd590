// Files and data that an agent sends to the caller of its task, beside the answer, also in chunks while it works.
import { AsyncLocalStorage } from 'node:async_hooks';
import { isRecord, PocketError } from '@pocket-agent/kit';
import type { AgentEvent } from 'pocket-agent';
import { ChunkedParts } from '../wire/chunked-parts.ts';
import type { Artifact, Part } from '../wire/task.ts';

/** What `sendArtifact()` sends: one of `text`, `bytes` and `data`. */
export interface SentArtifact {
  /** The name of the file, such as `report.csv`. */
  name: string;
  text?: string;
  bytes?: Uint8Array;
  data?: unknown;
  /** Such as `text/csv`. */
  mediaType?: string;
  description?: string;
  /** Adds a chunk to the artifact of this name. Default: the artifact is new, or replaces the one of this name. */
  append?: boolean;
  /** False if further chunks follow. Default true. */
  lastChunk?: boolean;
}

/** Whether more of an artifact comes. */
export interface Chunk {
  append: boolean;
  lastChunk: boolean;
}

const MAX_ARTIFACTS = 1_000;
const MAX_BYTES = 104_857_600;
/** Artifacts with this id are the answer. */
export const ANSWER = 'answer';

/** The artifacts of one task. */
export class SentArtifacts {
  readonly #artifacts = new Map<string, { about: Omit<Artifact, 'parts'>; parts: ChunkedParts; bytes: number }>();

  /** The answer first. */
  get all(): Artifact[] {
    const entries = [...this.#artifacts.values()].map(({ about, parts }) => ({ ...about, parts: parts.all }));
    return [...entries.filter(isAnswer), ...entries.filter((artifact) => !isAnswer(artifact))];
  }

  set({ parts, ...about }: Artifact, { append }: Chunk): void {
    const existing = this.#artifacts.get(about.artifactId);
    const bytes = parts.reduce((sum, part) => sum + sizeOf(part), append ? (existing?.bytes ?? 0) : 0);
    if (about.artifactId !== ANSWER) this.#check(about.artifactId, bytes);
    if (existing && append) {
      for (const part of parts) existing.parts.append(part);
      existing.bytes = bytes;
    } else this.#artifacts.set(about.artifactId, { about, parts: new ChunkedParts(parts), bytes });
  }

  #check(id: string, bytes: number): void {
    const others = [...this.#artifacts].filter(([other]) => other !== id && other !== ANSWER);
    if (others.length >= MAX_ARTIFACTS)
      throw new PocketError('TOOL_FAILED', `A task sends at most ${MAX_ARTIFACTS} artifacts.`);
    if (others.reduce((sum, [, other]) => sum + other.bytes, bytes) > MAX_BYTES)
      throw new PocketError(
        'TOOL_FAILED',
        `A task sends at most ${MAX_BYTES} bytes of artifacts. Send a link instead.`,
      );
  }
}

type Receive = (artifact: Artifact, chunk: Chunk) => boolean;

const receivers = new AsyncLocalStorage<Receive>();

/** Runs the agent of a task, whose `sendArtifact()` calls `receive`. */
export function whileReceiving<Value>(receive: Receive, work: () => Value): Value {
  return receivers.run(receive, work);
}

/**
 * Sends a file or data to the A2A client whose task is running, for tools of a served agent. Returns false if there is no
 * such client: the run was started in another way, is durable, or has ended.
 */
export function sendArtifact(artifact: SentArtifact): boolean {
  const { name, text, bytes, data, mediaType, description, append = false, lastChunk = true } = artifact;
  const given = [text, bytes, data].filter((value) => value !== undefined);
  if (typeof name !== 'string' || name === '' || name === ANSWER || given.length !== 1)
    throw new PocketError(
      'TOOL_FAILED',
      'sendArtifact() needs a name other than "answer", and one of text, bytes and data.',
    );
  const part: Part = {
    ...(text === undefined ? {} : { text }),
    ...(bytes === undefined ? {} : { raw: Buffer.from(bytes).toString('base64') }),
    ...(data === undefined ? {} : { data }),
    mediaType:
      mediaType ??
      (text === undefined ? (data === undefined ? 'application/octet-stream' : 'application/json') : 'text/plain'),
    filename: name,
  };
  const about = { artifactId: name, name, ...(description ? { description } : {}) };
  return receivers.getStore()?.({ ...about, parts: [part] }, { append, lastChunk }) ?? false;
}

/** Files that the model generated in a message, such as pictures. `first`: the number of the first one. */
export function generatedFiles(message: unknown, first: number): Artifact[] {
  if (!isRecord(message) || message.role !== 'assistant' || !Array.isArray(message.content)) return [];
  const parts = message.content.flatMap((part: unknown): Part[] => {
    if (!isRecord(part) || part.type !== 'file' || typeof part.mediaType !== 'string') return [];
    const value = isRecord(part.data) ? (part.data.data ?? part.data.url) : part.data;
    if (value instanceof Uint8Array) return [{ raw: Buffer.from(value).toString('base64'), mediaType: part.mediaType }];
    if (value instanceof URL || /^https?:/.test(String(value)))
      return [{ url: String(value), mediaType: part.mediaType }];
    return typeof value === 'string' ? [{ raw: value, mediaType: part.mediaType }] : [];
  });
  return parts.map((part, index) => {
    const name = `file-${first + index}`;
    return { artifactId: name, name, parts: [part] };
  });
}

/** Files in a message of the served agent itself. */
export function filesInEvent({ type, data, meta }: AgentEvent, first: number): Artifact[] {
  return type === 'new_message' && !meta.isSubAgent ? generatedFiles(data, first) : [];
}

function isAnswer({ artifactId }: Pick<Artifact, 'artifactId'>): boolean {
  return artifactId === ANSWER;
}

function sizeOf({ text, raw, data }: Part): number {
  return data === undefined ? (text ?? raw ?? '').length : JSON.stringify(data).length;
}
