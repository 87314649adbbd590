// A handler for clients of AG-UI: questions, answers to interrupts, coming back, and stopping.
import { OptionSet } from '@pocket-agent/kit';
import type { PocketAgent } from 'pocket-agent';
import { problem, type WebCaller } from '../live/caller.ts';
import { readRequest, webHandler } from '../live/handler.ts';
import type { LiveRun } from '../live/live-run.ts';
import { LiveRuns } from '../live/live-runs.ts';
import { fileTypesOf, showsTool, type WebHandler, type WebOptions, webRules } from '../live/options.ts';
import { streamed, traceparentOf } from '../live/responses.ts';
import { AguiEvents, runStarted } from './agui-events.ts';
import { aguiMessages } from './agui-messages.ts';
import { type AguiRequest, readAguiRequest } from './agui-request.ts';

/** The options of `aguiHandler`. */
export interface AguiHandlerOptions extends WebOptions {}

const NOT_OPEN = 'This question is no longer open. Connect to see what became of it.';
const aguiOptions = new OptionSet<AguiHandlerOptions>('aguiHandler()', webRules);

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
  readonly #runs: LiveRuns;
  readonly #fileTypes: readonly string[];

  constructor(agent: PocketAgent<unknown>, options: AguiHandlerOptions) {
    this.#options = options;
    this.#runs = new LiveRuns(agent, options);
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
    const { threadId, runId, question, answers } = asked;
    const run = this.#runs.find({ caller, id: threadId });
    const isKnown = run && eventsOf(run).runIds.has(runId);
    if (isKnown || lastSegment(request) === 'connect') return this.#connect(request, caller, asked);
    if (answers.some(isGiven) || (answers.length > 0 && !question))
      return question
        ? problem(400, 'Answer the interrupts in one run, and ask in the next one.')
        : this.#answer(request, caller, asked);
    if (!question) return problem(400, 'The last message must come from the user, or "resume" must answer interrupts.');
    return this.#start(request, caller, { ...asked, question });
  }

  async #start(
    request: Request,
    caller: WebCaller,
    { threadId, runId, question, repeats }: AguiRequest & { question: NonNullable<AguiRequest['question']> },
  ): Promise<Response> {
    const shows = showsTool(this.#options);
    const { id, content, input } = question;
    const run = await this.#runs.startTurn({
      caller,
      id: threadId,
      input,
      repeats,
      traceparent: traceparentOf(request),
      makeEncoder: (emit, before) => {
        const messages = [...aguiMessages(before, shows), { id, role: 'user' as const, content }];
        return new AguiEvents({ emit, messages, showsTool: shows, runId });
      },
    });
    if (run instanceof Response) return run;
    return streamed(request, run.replay(eventsOf(run).frame({ threadId, runId }, run)));
  }

  #answer(request: Request, caller: WebCaller, { threadId, runId, answers }: AguiRequest): Response {
    const run = this.#runs.find({ caller, id: threadId });
    if (!run || run.isOver) return problem(409, NOT_OPEN);
    const events = eventsOf(run);
    const body = run.follow(events.frame({ threadId, runId }, run));
    const given = answers.filter((answer) => run.answer(answer));
    if (given.length === 0) {
      void body.cancel();
      return problem(409, NOT_OPEN);
    }
    events.runIds.add(runId);
    return streamed(request, body);
  }

  /** The messages so far, then the run in progress. */
  async #connect(request: Request, caller: WebCaller, { threadId, runId }: AguiRequest): Promise<Response> {
    const of = { caller, id: threadId };
    const run = this.#runs.find(of);
    if (run) {
      const frame = eventsOf(run).frameWithMessages({ threadId, runId }, run);
      return streamed(request, run.follow(frame));
    }
    const messages = await this.#runs.read(of, (agent) => aguiMessages(agent.messages, showsTool(this.#options)));
    const sent = [
      runStarted({ threadId, runId }),
      { type: 'MESSAGES_SNAPSHOT', messages: messages ?? [] },
      { type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'success' } },
    ];
    return streamed(request, new Blob(sent.map((event) => `data: ${JSON.stringify(event)}\n\n`)).stream());
  }

  async #stop(request: Request, caller: WebCaller): Promise<Response> {
    const id = lastSegment(request);
    if (id === undefined) return problem(404, 'There is nothing at this address.');
    await this.#runs.find({ caller, id })?.stop('The user stopped it.');
    return new Response(null, { status: 204 });
  }
}

/** Whether the user allows a call, or has filled in a form. */
function isGiven({ approved, form }: AguiRequest['answers'][number]): boolean {
  return approved === true || (approved === undefined && form !== undefined);
}

function eventsOf({ encoder }: LiveRun): AguiEvents {
  if (!(encoder instanceof AguiEvents)) throw new TypeError('This run is not one of AG-UI.');
  return encoder;
}

function lastSegment({ url }: Request): string | undefined {
  const segment = new URL(url).pathname.split('/').filter(Boolean).at(-1);
  try {
    return segment === undefined ? undefined : decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
