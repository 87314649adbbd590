// A handler for AG-UI clients: starts runs, answers interrupts, reconnects and stops.
import { OptionSet } from '@pocket-agent/kit';
import type { PocketAgent } from 'pocket-agent';
import { type DurableChatOptions, durableRule } from '../durable/durable-options.ts';
import type { WebCaller } from '../live/caller.ts';
import { readRequest, webHandler } from '../live/handler.ts';
import { fileTypesOf, type WebHandler, type WebOptions, webRules } from '../live/options.ts';
import { errorResponse, streamResponse, traceparentOf } from '../live/responses.ts';
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
 * Serves an agent to AG-UI clients, such as `HttpAgent` of `@ag-ui/client`. Mount it at the `url` of the client and below:
 * `POST …` starts a run, `POST …/connect` returns the messages so far and follows the run in progress, and
 * `DELETE …/{threadId}` stops it.
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
    return errorResponse(405, 'Use POST or DELETE.');
  }

  async #post(request: Request, caller: WebCaller): Promise<Response> {
    const body = await readRequest(request, this.#options, (body) => readAguiRequest(body, this.#fileTypes));
    if (body instanceof Response) return body;
    const { threadId: id, runId, question, answers, earlierQuestions } = body;
    const run = { caller, id, runId };
    if (lastSegment(request) === 'connect' || (await this.#threads.hasStarted(run)))
      return streamResponse(request, await this.#threads.connect(run));
    if (answers.some(isPositive) || (answers.length > 0 && !question)) {
      if (question)
        return errorResponse(400, 'Answer the interrupts in one run, and ask the question in the next one.');
      const events = await this.#threads.answer(run, answers);
      return events ? streamResponse(request, events) : errorResponse(409, NOT_OPEN);
    }
    if (!question)
      return errorResponse(400, 'The last message must come from the user, or "resume" must answer interrupts.');
    const events = await this.#threads.start({
      ...run,
      question,
      earlierQuestions,
      traceparent: traceparentOf(request),
    });
    return events instanceof Response ? events : streamResponse(request, events);
  }

  async #stop(request: Request, caller: WebCaller): Promise<Response> {
    const id = lastSegment(request);
    if (id === undefined) return errorResponse(404, 'Not found: the path must end in a thread id.');
    await this.#threads.stop({ caller, id });
    return new Response(null, { status: 204 });
  }
}

/** Whether the user allows a call or has filled in a form. */
function isPositive({ approved, form }: AguiRequest['answers'][number]): boolean {
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
