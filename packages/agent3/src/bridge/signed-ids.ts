// Creates task handles, and signs context ids and push tokens, so that each is valid only for its caller and agent.
import { createHmac, createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto';
import { isSameSecret } from '@pocket-agent/kit';
import { CallFailure } from '../base/call-failure.ts';

interface Scope {
  caller: string;
  agentId: string;
}

export class SignedIds {
  readonly #key: KeyObject;

  /** Without a key, signatures are valid until the process ends. */
  constructor(key: string | Uint8Array = randomBytes(32)) {
    this.#key = createSecretKey(Buffer.from(key));
  }

  newTaskHandle(): string {
    return `task_${randomUUID()}`;
  }

  pushToken(taskHandle: string): string {
    return this.#sign('push', taskHandle);
  }

  isPushToken(token: string, taskHandle: string): boolean {
    return isSameSecret(token, this.pushToken(taskHandle));
  }

  sealContext(contextId: string, { caller, agentId }: Scope): string {
    return `${this.#sign('context', caller, agentId, contextId)}.${contextId}`;
  }

  openContext(sealed: string, { caller, agentId }: Scope): string {
    const dot = sealed.indexOf('.');
    const contextId = sealed.slice(dot + 1);
    if (dot < 0 || !isSameSecret(sealed.slice(0, dot), this.#sign('context', caller, agentId, contextId)))
      throw new CallFailure(
        'TASK_UNKNOWN',
        'this contextId is not valid for you and this agent. Use one from a response, or omit it.',
      );
    return contextId;
  }

  #sign(...fields: string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(fields)).digest('base64url');
  }
}
