// A handler for `useChat` of the AI SDK: questions, answers to approvals, resuming, stopping, and saved messages.
import { OptionSet } from '@pocket-agent/kit';
import type { PocketAgent } from 'pocket-agent';
import { problem, type WebCaller } from '../live/caller.ts';
import { readRequest, webHandler } from '../live/handler.ts';
import { LiveRuns } from '../live/live-runs.ts';
import { fileTypesOf, showsTool, type WebHandler, type WebOptions, webRules } from '../live/options.ts';
import { streamed, traceparentOf } from '../live/responses.ts';
import { turnsIn } from '../live/turns.ts';
import { type ChatRequest, readChatRequest } from './chat-request.ts';
import { UiChunks, uiFrame } from './ui-chunks.ts';
import { answerId, uiMessages } from './ui-messages.ts';

/** The options of `chatHandler`. */
export interface ChatHandlerOptions extends WebOptions {}

const chatOptions = new OptionSet<ChatHandlerOptions>('chatHandler()', webRules);
const UI_HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' };

/**
 * Serves an agent to `useChat` of the AI SDK. Mount it at the `api` of the transport and below:
 * `POST …`, `GET …/{id}/stream` to resume, `DELETE …/{id}/stream` to stop, `GET …/{id}` for the saved messages.
 */
export function chatHandler(agent: PocketAgent<unknown>, options: ChatHandlerOptions): WebHandler {
  chatOptions.check(options ?? {});
  const handler = new ChatHandler(agent, options);
  return webHandler(agent, options, (request, caller) => handler.answer(request, caller));
}

class ChatHandler {
  readonly #options: ChatHandlerOptions;
  readonly #runs: LiveRuns;
  readonly #fileTypes: readonly string[];

  constructor(agent: PocketAgent<unknown>, options: ChatHandlerOptions) {
    this.#options = options;
    this.#runs = new LiveRuns(agent, options);
    this.#fileTypes = fileTypesOf(agent, options);
  }

  async answer(request: Request, caller: WebCaller): Promise<Response> {
    if (request.method === 'POST') return this.#post(request, caller);
    const { id, isStream } = placeOf(request);
    if (id === undefined) return problem(404, 'There is nothing at this address.');
    if (request.method === 'GET') return isStream ? this.#resume(request, { caller, id }) : this.#read({ caller, id });
    if (request.method === 'DELETE' && isStream) return this.#stop({ caller, id });
    return problem(405, 'Use POST, GET or DELETE.');
  }

  async #post(request: Request, caller: WebCaller): Promise<Response> {
    const chat = await readRequest(request, this.#options, (body) => readChatRequest(body, this.#fileTypes));
    if (chat instanceof Response) return chat;
    return chat.input === undefined ? this.#answer(request, caller, chat) : this.#start(request, caller, chat);
  }

  async #start(request: Request, caller: WebCaller, { id, input = '', repeats }: ChatRequest): Promise<Response> {
    const run = await this.#runs.startTurn({
      caller,
      id,
      input,
      repeats,
      traceparent: traceparentOf(request),
      makeEncoder: (emit, before) =>
        new UiChunks({ emit, messageId: answerId(turnsIn(before) + 1), showsTool: showsTool(this.#options) }),
    });
    return run instanceof Response ? run : stream(request, run.replay(uiFrame));
  }

  #answer(request: Request, caller: WebCaller, { id, answers }: ChatRequest): Response {
    const run = this.#runs.find({ caller, id });
    const open = run && !run.isOver ? run : undefined;
    const body = open?.follow(uiFrame);
    const given = answers.filter((answer) => open?.answer(answer));
    if (body && given.length > 0) return stream(request, body);
    void body?.cancel();
    return problem(409, 'This question is no longer open. Ask again.');
  }

  #resume(request: Request, of: { caller: WebCaller; id: string }): Response {
    const run = this.#runs.find(of);
    return run?.isResumable ? stream(request, run.replay(uiFrame)) : new Response(null, { status: 204 });
  }

  async #stop(of: { caller: WebCaller; id: string }): Promise<Response> {
    await this.#runs.find(of)?.stop('The user stopped it.');
    return new Response(null, { status: 204 });
  }

  async #read(of: { caller: WebCaller; id: string }): Promise<Response> {
    const messages = await this.#runs.read(of, (agent) => uiMessages(agent.messages, showsTool(this.#options)));
    return Response.json({ messages: messages ?? [] }, { headers: { 'cache-control': 'no-store' } });
  }
}

function stream(request: Request, body: ReadableStream): Response {
  return streamed(request, body, UI_HEADERS);
}

/** `…/{id}` or `…/{id}/stream`. */
function placeOf({ url }: Request): { id: string | undefined; isStream: boolean } {
  const segments = new URL(url).pathname.split('/').filter(Boolean);
  const isStream = segments.length > 1 && segments.at(-1) === 'stream';
  const encoded = segments.at(isStream ? -2 : -1);
  try {
    return { id: encoded === undefined ? undefined : decodeURIComponent(encoded), isStream };
  } catch {
    return { id: undefined, isStream };
  }
}
