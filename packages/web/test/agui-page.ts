// A page with the client of AG-UI, over a handler instead of a network.
import {
  HttpAgent,
  type Message,
  type RunAgentInput,
  type RunAgentParameters,
  runHttpRequest,
  transformHttpEventStream,
} from '@ag-ui/client';
import { type AguiHandlerOptions, aguiHandler, type WebHandler } from '@pocket-agent/web';
import type { PocketAgent } from 'pocket-agent';
import { onTestFinished, vi } from 'vitest';
import { authorize, cut } from './page.ts';

/** A handler whose agent is closed with the test. */
export function servedAgui(agent: PocketAgent<unknown>, options: Partial<AguiHandlerOptions> = {}): WebHandler {
  onTestFinished(() => agent.close());
  return aguiHandler(agent, { authorize, ...options });
}

const url = 'http://localhost/agui';

/** The client of AG-UI with the address of the handler for `connectAgent()`. */
export class PageAgent extends HttpAgent {
  readonly events: string[] = [];
  readonly requests: string[] = [];
  readonly errors: string[] = [];

  constructor(handler: WebHandler, { user = 'ada', threadId = 'thread-1', cutAfter }: PageOptions = {}) {
    let left = cutAfter;
    super({
      url,
      threadId,
      fetch: async (to, init) => {
        const request = new Request(to, init);
        request.headers.set('x-user', user);
        const response = await handler(request);
        this.requests.push(`${request.method} ${new URL(to).pathname} ${response.status}`);
        if (left === undefined || !response.body) return response;
        const body = cut(response.body, left, new DOMException('network error', 'AbortError')); // others, the client throws twice
        left = undefined;
        return new Response(body, response);
      },
    });
    this.subscribe({
      onEvent: ({ event }) => void this.events.push(event.type),
      onRunFailed: ({ error }) => void this.errors.push(error.message),
      onRunErrorEvent: ({ event }) => void this.errors.push(event.message),
    });
  }

  /** Failures are in `errors`, as for a page; the client also writes them to the console. */
  override async runAgent(parameters?: RunAgentParameters) {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    try {
      return await super.runAgent(parameters);
    } catch {
      return { result: undefined, newMessages: [] };
    } finally {
      log.mockRestore();
    }
  }

  protected override connect(input: RunAgentInput) {
    return transformHttpEventStream(runHttpRequest(() => this.fetch(`${url}/connect`, this.requestInit(input))));
  }

  /** The user asks. */
  async ask(text: string, more: object = {}): Promise<unknown> {
    this.addMessage({ id: `user-${this.messages.length}`, role: 'user', content: text });
    return (await this.runAgent(more))?.result;
  }

  /** Answers the only open interrupt. */
  async answer(payload: object): Promise<void> {
    const [first, ...others] = this.pendingInterrupts;
    if (!first || others.length > 0) throw new Error(`${this.pendingInterrupts.length} interrupts`);
    await this.runAgent({ resume: [{ interruptId: first.id, status: 'resolved', payload }] });
  }

  /** The text of the last message. */
  get said(): unknown {
    return this.messages.at(-1)?.content;
  }

  /** The messages without their ids, which differ from run to run; activities last, as clients keep them where they are. */
  get shown(): object[] {
    const isActivity = ({ role }: Message) => role === 'activity';
    const others = this.messages.filter((message) => !isActivity(message));
    return [...others, ...this.messages.filter(isActivity)].map(({ id: _, ...message }) => message);
  }
}

interface PageOptions {
  user?: string;
  threadId?: string;
  /** After this many server-sent events the connection breaks, once. */
  cutAfter?: number;
}
