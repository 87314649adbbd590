// Buttons that answer an approval question. Mattermost keeps their context from users; the signature proves that the bot made it.
import { createHmac } from 'node:crypto';
import { isSame } from './callback-server.ts';

interface Pressed {
  /** Id of the question of the run. */
  question: string;
  isAllowed: boolean;
}

export class ApprovalButtons {
  readonly #url: string;
  readonly #secret: string;

  /** `url`: of the callbacks. */
  constructor({ url, secret }: { url: string; secret: string }) {
    this.#url = url;
    this.#secret = secret;
  }

  /** The attachments of a post that asks. Mattermost accepts only letters and digits as ids of buttons. */
  attachments(question: string): object[] {
    const button = (answer: 'allow' | 'deny', name: string, style: string) => ({
      ...{ id: answer, name, style, type: 'button' },
      integration: {
        url: `${this.#url}/actions`,
        context: { question, answer, signature: this.#sign(question, answer) },
      },
    });
    // reactions answer also if Mattermost cannot reach the bot
    return [
      {
        text: 'Or react with :+1: or :-1:.',
        actions: [button('allow', 'Allow', 'primary'), button('deny', 'Deny', 'danger')],
      },
    ];
  }

  /** Undefined if this bot did not make the button. */
  read({ question, answer, signature }: Record<string, unknown>): Pressed | undefined {
    if (typeof question !== 'string' || typeof answer !== 'string' || typeof signature !== 'string') return undefined;
    if (!isSame(signature, this.#sign(question, answer))) return undefined;
    return { question, isAllowed: answer === 'allow' };
  }

  #sign(question: string, answer: string): string {
    return createHmac('sha256', this.#secret).update(`approval\n${question}\n${answer}`).digest('base64url');
  }
}
