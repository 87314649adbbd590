// Push notifications of agents: asked for with a token for one task, taken in only with it, and told to those who wait.

import { toFailure } from '../base/call-failure.ts';
import { Redactor } from '../base/clean-text.ts';
import type { Directory, KnownTask } from '../base/types.ts';
import type { Tickets } from './tickets.ts';
import { readUpdate } from './wire/read-wire.ts';
import { isOver, type Task, type Update } from './wire/wire.ts';
import type { PushAddress } from './wire/write-wire.ts';

interface PushesOptions {
  /** Where agents reach `receive`; the handle of the task is put behind it. */
  url: string | undefined;
  directory: Directory;
  tickets: Tickets;
  now(): number;
  /** Tells what an agent was sent and must not come back. */
  conceal(agentId: string, redactor: Redactor): Promise<void>;
}

const MAX_BYTES = 1_000_000;
const MAX_KEPT = 200_000;
const OPENING_MS = 5000;

export class Pushes {
  readonly #options: PushesOptions;
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  /** Tasks that are about to be saved; their agents may be quicker than we are. */
  readonly #opening = new Map<string, PromiseWithResolvers<void>>();

  constructor(options: PushesOptions) {
    this.#options = options;
  }

  /**
   * For a message to a task; `opened` says that the task is saved, or will not be. By its id the agent knows that it is
   * the address of before, not one more.
   */
  open(taskHandle: string): PushAddress | undefined {
    const { url, tickets } = this.#options;
    if (url === undefined) return undefined;
    this.#opening.set(taskHandle, Promise.withResolvers());
    return { id: taskHandle, url: `${url.replace(/\/+$/, '')}/${taskHandle}`, token: tickets.pushToken(taskHandle) };
  }

  opened(taskHandle: string): void {
    this.#opening.get(taskHandle)?.resolve();
    this.#opening.delete(taskHandle);
  }

  /** Resolves at the next notification of this task. */
  wake(taskHandle: string): Promise<void> {
    const waiting = this.#waiting.get(taskHandle) ?? Promise.withResolvers<void>();
    this.#waiting.set(taskHandle, waiting);
    return waiting.promise;
  }

  sleep(taskHandle: string): void {
    this.#waiting.delete(taskHandle);
  }

  async receive(request: Request): Promise<Response> {
    const { tickets, directory, now, conceal } = this.#options;
    if (request.method !== 'POST') return answer(405, 'Notifications are sent with POST.');
    const taskHandle = new URL(request.url).pathname.split('/').at(-1) ?? '';
    const bearer = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
    const token = request.headers.get('x-a2a-notification-token') ?? bearer ?? '';
    if (!tickets.isPushToken(token, taskHandle)) return answer(401, 'The token of this task is missing or wrong.');
    const text = await readText(request);
    if (text === undefined) return answer(413, 'The notification is too large.');
    const update = parse(text);
    if (!update) return answer(400, 'This is no notification of A2A.');
    await this.#opened(taskHandle);
    const known = await directory.task(taskHandle);
    const about = told(update);
    if (!known || about?.taskId !== known.taskId) return answer(404, 'This task is not known.');
    const redactor = new Redactor();
    await conceal(known.agentId, redactor);
    // notifications can overtake each other; a task that is over stays so
    if (!isOver(known.state) || isOver(about.state ?? 'working'))
      await directory.saveTask({
        ...known,
        state: about.state ?? known.state,
        ...(text.length <= MAX_KEPT ? { pushed: redactor.redact(text) } : {}),
        updatedAt: now(),
      });
    this.#waiting.get(taskHandle)?.resolve();
    this.#waiting.delete(taskHandle);
    return new Response(null, { status: 204 });
  }

  async #opened(taskHandle: string): Promise<void> {
    const opening = this.#opening.get(taskHandle);
    if (!opening) return;
    const timer = setTimeout(opening.resolve, OPENING_MS);
    await opening.promise;
    clearTimeout(timer);
  }
}

/** The whole task, when a notification had it and it is over: then nobody needs to be asked. */
export function pushedTask({ pushed, taskId }: KnownTask): Task | undefined {
  const update = pushed === undefined ? undefined : parse(pushed);
  if (update?.kind !== 'task') return undefined;
  const { task } = update;
  return task.id === taskId && isOver(task.status.state) ? task : undefined;
}

function parse(text: string): Update | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return readUpdate(value, '1.0');
  } catch (error) {
    toFailure(error);
    return undefined;
  }
}

function told(update: Update) {
  switch (update.kind) {
    case 'task':
      return { taskId: update.task.id, state: update.task.status.state };
    case 'status':
      return { taskId: update.taskId, state: update.status.state };
    case 'artifact':
      return { taskId: update.taskId, state: undefined };
    case 'message':
      return { taskId: update.message.taskId, state: undefined };
  }
}

async function readText(request: Request): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function answer(status: number, text: string): Response {
  return new Response(text, { status, headers: { 'content-type': 'text/plain' } });
}
