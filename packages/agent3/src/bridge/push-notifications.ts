// Push notifications of agents: offers a URL with a token per task, checks the token, stores the update, wakes waiting calls.
import { isOver, type PushAddress, readUpdate, type Task, type Update } from '@pocket-agent/a2a/client';
import { readBody } from '@pocket-agent/http/byte-chunks';
import { Redactor } from '../base/clean-text.ts';
import type { Directory, SavedTask } from './directory.ts';
import type { SignedIds } from './signed-ids.ts';

interface PushNotificationsOptions {
  /** The public URL of `receive`, to which the task handle is appended. */
  url: string | undefined;
  directory: Directory;
  signedIds: SignedIds;
  now(): number;
  /** Adds the credentials of the agent to the redactor. */
  conceal(agentId: string, redactor: Redactor): Promise<void>;
}

const MAX_BYTES = 1_000_000;
const MAX_STORED_LENGTH = 200_000;
const SAVE_TIMEOUT_MS = 5000;

export class PushNotifications {
  readonly #options: PushNotificationsOptions;
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  /** Tasks that are not saved yet; their agents may already send notifications. */
  readonly #unsaved = new Map<string, PromiseWithResolvers<void>>();

  constructor(options: PushNotificationsOptions) {
    this.#options = options;
  }

  /**
   * The push address for a message; call `taskSaved` afterwards. The id stays the same for a task, so that the agent
   * replaces the address instead of adding one.
   */
  offer(taskHandle: string): PushAddress | undefined {
    const { url, signedIds } = this.#options;
    if (url === undefined) return undefined;
    this.#unsaved.set(taskHandle, Promise.withResolvers());
    return { id: taskHandle, url: `${url.replace(/\/+$/, '')}/${taskHandle}`, token: signedIds.pushToken(taskHandle) };
  }

  /** Call this when the task was saved or saving it failed. */
  taskSaved(taskHandle: string): void {
    this.#unsaved.get(taskHandle)?.resolve();
    this.#unsaved.delete(taskHandle);
  }

  /** Resolves with the next notification of this task. */
  next(taskHandle: string): Promise<void> {
    const waiting = this.#waiting.get(taskHandle) ?? Promise.withResolvers<void>();
    this.#waiting.set(taskHandle, waiting);
    return waiting.promise;
  }

  stopWaiting(taskHandle: string): void {
    this.#waiting.delete(taskHandle);
  }

  async receive(request: Request): Promise<Response> {
    const { signedIds, directory, now, conceal } = this.#options;
    if (request.method !== 'POST') return answer(405, 'Notifications are sent with POST.');
    const taskHandle = new URL(request.url).pathname.split('/').at(-1) ?? '';
    const bearer = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
    const token = request.headers.get('x-a2a-notification-token') ?? bearer ?? '';
    if (!signedIds.isPushToken(token, taskHandle)) return answer(401, 'The token of this task is missing or wrong.');
    const text = (await readBody(request, MAX_BYTES))?.toString();
    if (text === undefined) return answer(413, 'The notification is too large.');
    const update = parse(text);
    if (!update) return answer(400, 'This is not an A2A notification.');
    await this.#whenSaved(taskHandle);
    const saved = await directory.task(taskHandle);
    const subject = subjectOf(update);
    if (!saved || subject.taskId !== saved.taskId) return answer(404, 'Unknown task.');
    const redactor = new Redactor();
    await conceal(saved.agentId, redactor);
    // notifications may arrive out of order; an ended task stays ended
    if (!isOver(saved.state) || isOver(subject.state ?? 'working'))
      await directory.saveTask({
        ...saved,
        state: subject.state ?? saved.state,
        ...(text.length <= MAX_STORED_LENGTH ? { pushed: redactor.redact(text) } : {}),
        updatedAt: now(),
      });
    this.#waiting.get(taskHandle)?.resolve();
    this.#waiting.delete(taskHandle);
    return new Response(null, { status: 204 });
  }

  async #whenSaved(taskHandle: string): Promise<void> {
    const unsaved = this.#unsaved.get(taskHandle);
    if (!unsaved) return;
    const timer = setTimeout(unsaved.resolve, SAVE_TIMEOUT_MS);
    await unsaved.promise;
    clearTimeout(timer);
  }
}

/** The finished task of a notification that was stored whole; it saves a request to the agent. */
export function pushedTask({ pushed, taskId }: SavedTask): Task | undefined {
  const update = pushed === undefined ? undefined : parse(pushed);
  if (update?.kind !== 'task') return undefined;
  const { task } = update;
  return task.id === taskId && isOver(task.status.state) ? task : undefined;
}

function parse(text: string): Update | undefined {
  try {
    return readUpdate(JSON.parse(text), '1.0');
  } catch {
    return undefined;
  }
}

function subjectOf(update: Update) {
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

function answer(status: number, text: string): Response {
  return new Response(text, { status, headers: { 'content-type': 'text/plain' } });
}
