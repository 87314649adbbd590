// A handler for `useChat` of the AI SDK: starts runs, answers approvals, resumes, stops and returns saved messages.
import { OptionSet } from '@pocket-agent/kit';
import type { PocketAgent } from 'pocket-agent';
import { type DurableChatOptions, durableRule } from '../durable/durable-options.ts';
import type { WebCaller } from '../live/caller.ts';
import type { Chats } from '../live/chats.ts';
import { readRequest, webHandler } from '../live/handler.ts';
import type { ConversationRef } from '../live/live-runs.ts';
import { fileTypesOf, showsDetails, type WebHandler, type WebOptions, webRules } from '../live/options.ts';
import { errorResponse, streamResponse, traceparentOf } from '../live/responses.ts';
import { readChatRequest } from './chat-request.ts';
import { DurableChats } from './durable-chats.ts';
import { LiveChats } from './live-chats.ts';
import { uiMessages } from './ui-messages.ts';

/** The options of `chatHandler`. */
export interface ChatHandlerOptions extends WebOptions {
  /** Runs continue after a restart of the server: `{ runs: await openRuns(…), agent: 'its name there' }`. */
  durable?: DurableChatOptions;
}

const chatOptions = new OptionSet<ChatHandlerOptions>('chatHandler()', { ...webRules, durable: durableRule });
const UI_HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' };

/**
 * Serves an agent to `useChat` of the AI SDK. Mount it at the `api` of the transport and below:
 * `POST …` asks or answers, `GET …/{id}/stream` resumes, `DELETE …/{id}/stream` stops, and `GET …/{id}` returns the saved
 * messages.
 */
export function chatHandler(agent: PocketAgent<unknown>, options: ChatHandlerOptions): WebHandler {
  chatOptions.check(options ?? {});
  const handler = new ChatHandler(agent, options);
  return webHandler(agent, options, (request, caller) => handler.answer(request, caller));
}

class ChatHandler {
  readonly #options: ChatHandlerOptions;
  readonly #chats: Chats;
  readonly #fileTypes: readonly string[];

  constructor(agent: PocketAgent<unknown>, options: ChatHandlerOptions) {
    this.#options = options;
    const { durable } = options;
    this.#chats = durable ? new DurableChats(agent, options, durable) : new LiveChats(agent, options);
    this.#fileTypes = fileTypesOf(agent, options);
  }

  async answer(request: Request, caller: WebCaller): Promise<Response> {
    if (request.method === 'POST') return this.#post(request, caller);
    const { id, isStream } = parsePath(request);
    if (id === undefined)
      return errorResponse(404, 'Not found: the path must end in a conversation id, or in /stream after it.');
    if (request.method === 'GET') return isStream ? this.#resume(request, { caller, id }) : this.#read({ caller, id });
    if (request.method === 'DELETE' && isStream) return this.#stop({ caller, id });
    return errorResponse(405, 'Use POST, GET or DELETE.');
  }

  async #post(request: Request, caller: WebCaller): Promise<Response> {
    const chat = await readRequest(request, this.#options, (body) => readChatRequest(body, this.#fileTypes));
    if (chat instanceof Response) return chat;
    const { id, input, earlierQuestions, answers } = chat;
    const body =
      input === undefined
        ? await this.#chats.answer({ caller, id }, answers)
        : await this.#chats.start({ caller, id, input, earlierQuestions, traceparent: traceparentOf(request) });
    if (body instanceof Response) return body;
    return body ? uiStream(request, body) : errorResponse(409, 'This question is no longer open. Ask again.');
  }

  async #resume(request: Request, ref: ConversationRef): Promise<Response> {
    const body = await this.#chats.resume(ref);
    return body ? uiStream(request, body) : new Response(null, { status: 204 });
  }

  async #stop(ref: ConversationRef): Promise<Response> {
    await this.#chats.stop(ref);
    return new Response(null, { status: 204 });
  }

  async #read(ref: ConversationRef): Promise<Response> {
    const messages = uiMessages(await this.#chats.read(ref), showsDetails(this.#options));
    return Response.json({ messages }, { headers: { 'cache-control': 'no-store' } });
  }
}

function uiStream(request: Request, body: ReadableStream): Response {
  return streamResponse(request, body, UI_HEADERS);
}

/** Reads `…/{id}` or `…/{id}/stream`. */
function parsePath({ url }: Request): { id: string | undefined; isStream: boolean } {
  const segments = new URL(url).pathname.split('/').filter(Boolean);
  const isStream = segments.length > 1 && segments.at(-1) === 'stream';
  const encoded = segments.at(isStream ? -2 : -1);
  try {
    return { id: encoded === undefined ? undefined : decodeURIComponent(encoded), isStream };
  } catch {
    return { id: undefined, isStream };
  }
}
