// A handler for clients of AG-UI: questions, answers to interrupts, reconnecting, and stopping.
import { OptionSet } from '@pocket-agent/kit';
import type { PocketAgent } from 'pocket-agent';
import { type DurableChatOptions, durableRule } from '../durable/durable-options.ts';
import { problem, type WebCaller } from '../live/caller.ts';
import { readRequest, webHandler } from '../live/handler.ts';
import { fileTypesOf, type WebHandler, type WebOptions, webRules } from '../live/options.ts';
import { streamed, traceparentOf } from '../live/responses.ts';
import { type AguiRequest, readAguiRequest } from './agui-request.ts';
import { DurableThreads } from './durable-threads.ts';
import { LiveThreads } from './live-threads.ts';
import type { AguiThreads } from './threads.ts';

/** The options of `aguiHandler`. */
export interface AguiHandlerOptions extends WebOptions {
  /** Runs continue after a restart of the server: `{ runs: await openRuns(…), agent: 'its name there' }`. */
  durable?: DurableChatOptions;
}

const NOT_OPEN = 'This question is no longer open. Connect to see how it was answered.';
const aguiOptions = new OptionSet<AguiHandlerOptions>('aguiHandler()', { ...webRules, durable: durableRule });

/**
 * Serves an agent to clients of AG-UI, such as `HttpAgent` of `@ag-ui/client`. Mount it at the `url` of the client and below:
 * `POST …` for a run, `POST …/connect` for the messages so far and the run in progress, `DELETE …/{threadId}` to stop it.
 */
export function aguiHandler(agent: PocketAgent<unknown>, options: AguiHandlerOptions): WebHandler {
  aguiOptions.check(options ?? {});
  const handler = new AguiHandler(agent, options);
  return webHandler(agent, options, (request, caller) => handler.answer(request, caller));
}

class AguiHandler {
  readonly #options: AguiHandlerOptions;
  readonly #threads: AguiThreads;
  readonly #fileTypes: readonly string[];

  constructor(agent: PocketAgent<unknown>, options: AguiHandlerOptions) {
    const { durable } = options;
    this.#options = options;
    this.#threads = durable ? new DurableThreads(agent, options, durable) : new LiveThreads(agent, options);
    this.#fileTypes = fileTypesOf(agent, options);
  }

  async answer(request: Request, caller: WebCaller): Promise<Response> {
    if (request.method === 'POST') return this.#post(request, caller);
    if (request.method === 'DELETE') return this.#stop(request, caller);
    return problem(405, 'Use POST or DELETE.');
  }

  async #post(request: Request, caller: WebCaller): Promise<Response> {
    const asked = await readRequest(request, this.#options, (body) => readAguiRequest(body, this.#fileTypes));
    if (asked instanceof Response) return asked;
    const { threadId: id, runId, question, answers, repeats } = asked;
    const run = { caller, id, runId };
    if (lastSegment(request) === 'connect' || (await this.#threads.knows(run)))
      return streamed(request, await this.#threads.connect(run));
    if (answers.some(isGiven) || (answers.length > 0 && !question)) {
      if (question) return problem(400, 'Answer the interrupts in one run, and ask in the next one.');
      const body = await this.#threads.answer(run, answers);
      return body ? streamed(request, body) : problem(409, NOT_OPEN);
    }
    if (!question) return problem(400, 'The last message must come from the user, or "resume" must answer interrupts.');
    const body = await this.#threads.start({ ...run, question, repeats, traceparent: traceparentOf(request) });
    return body instanceof Response ? body : streamed(request, body);
  }

  async #stop(request: Request, caller: WebCaller): Promise<Response> {
    const id = lastSegment(request);
    if (id === undefined) return problem(404, 'There is nothing at this address.');
    await this.#threads.stop({ caller, id });
    return new Response(null, { status: 204 });
  }
}

/** Whether the user allows a call, or has filled in a form. */
function isGiven({ approved, form }: AguiRequest['answers'][number]): boolean {
  return approved === true || (approved === undefined && form !== undefined);
}

function lastSegment({ url }: Request): string | undefined {
  const segment = new URL(url).pathname.split('/').filter(Boolean).at(-1);
  try {
    return segment === undefined ? undefined : decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
