// What the bridge hands out and takes back: good only for whom it was made, which is proven and not looked up.
import { createHmac, createSecretKey, type KeyObject, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { CallFailure } from '../base/call-failure.ts';

interface Whose {
  caller: string;
  agentId: string;
}

export class Tickets {
  readonly #key: KeyObject;

  /** Without a key, tickets are good until the process ends. */
  constructor(key: string | Uint8Array = randomBytes(32)) {
    this.#key = createSecretKey(Buffer.from(key));
  }

  newHandle(): string {
    return `task_${randomUUID()}`;
  }

  pushToken(taskHandle: string): string {
    return this.#prove('push', taskHandle);
  }

  isPushToken(token: string, taskHandle: string): boolean {
    return isSame(token, this.pushToken(taskHandle));
  }

  sealContext(contextId: string, { caller, agentId }: Whose): string {
    return `${this.#prove('context', caller, agentId, contextId)}.${contextId}`;
  }

  openContext(sealed: string, { caller, agentId }: Whose): string {
    const dot = sealed.indexOf('.');
    const contextId = sealed.slice(dot + 1);
    if (dot < 0 || !isSame(sealed.slice(0, dot), this.#prove('context', caller, agentId, contextId)))
      throw new CallFailure('TASK_UNKNOWN', 'this contextId is not one of yours. Use one from an answer, or none.');
    return contextId;
  }

  #prove(...what: string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(what)).digest('base64url');
  }
}

function isSame(given: string, expected: string): boolean {
  const one = Buffer.from(given);
  const other = Buffer.from(expected);
  return one.length === other.length && timingSafeEqual(one, other);
}
