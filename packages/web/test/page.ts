// A page with `useChat`: the chat and the transport of the AI SDK, over a handler instead of a network.
import { Chat } from '@ai-sdk/react';
import type { ChatHandlerOptions, WebHandler } from '@pocket-agent/web';
import { chatHandler } from '@pocket-agent/web';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import type { PocketAgent } from 'pocket-agent';
import { onTestFinished } from 'vitest';

export const authorize = (request: Request) => request.headers.get('x-user');

/** A handler whose agent is closed with the test. */
export function served(agent: PocketAgent<unknown>, options: Partial<ChatHandlerOptions> = {}): WebHandler {
  onTestFinished(() => agent.close());
  return chatHandler(agent, { authorize, ...options });
}

interface PageOptions {
  user?: string;
  id?: string;
  messages?: UIMessage[];
  /** After this many server-sent events the connection breaks, once. */
  cutAfter?: number;
}

export interface Page {
  chat: Chat<UIMessage>;
  /** Requests of the page: method, path and status. */
  requests: string[];
  errors: string[];
}

export function openPage(
  handler: WebHandler,
  { user = 'ada', id = 'chat-1', messages = [], cutAfter }: PageOptions = {},
): Page {
  const requests: string[] = [];
  const errors: string[] = [];
  let left = cutAfter;
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(new URL(String(input), 'http://localhost'), init);
    request.headers.set('x-user', user);
    const response = await handler(request);
    requests.push(`${request.method} ${new URL(request.url).pathname} ${response.status}`);
    if (left === undefined || !response.body) return response;
    const body = cut(response.body, left);
    left = undefined;
    return new Response(body, response);
  };
  const chat = new Chat<UIMessage>({
    id,
    messages,
    transport: new DefaultChatTransport({ api: '/api/chat', fetch }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onError: (error) => void errors.push(error.message),
  });
  return { chat, requests, errors };
}

/** Breaks off like a lost connection. */
export function cut(
  body: ReadableStream<Uint8Array>,
  events: number,
  error: Error = new TypeError('network error'),
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let waiting: string[] = [];
  let seen = 0;
  return new ReadableStream({
    async pull(controller) {
      if (seen === events) {
        await reader.cancel();
        controller.error(error);
        return;
      }
      if (waiting.length === 0) {
        const { done, value } = await reader.read().catch(() => {
          throw error;
        });
        if (done) {
          controller.close();
          return;
        }
        waiting = new TextDecoder().decode(value).split(/(?<=\n\n)/);
      }
      seen++;
      controller.enqueue(new TextEncoder().encode(waiting.shift()));
    },
    cancel: () => reader.cancel(),
  });
}

/** Another page, which does not show the saved messages, repeats a question. Returns its requests. */
export async function repeatElsewhere(handler: WebHandler): Promise<string[]> {
  const messages = ['unlike the first', 'again'].map((text) => ({
    id: text,
    role: 'user' as const,
    parts: [{ type: 'text' as const, text }],
  }));
  const { chat, requests } = openPage(handler, { messages });
  await chat.regenerate();
  return requests;
}

/** The parts of the last message, without what differs from run to run. */
export function lastParts({ chat }: Page): object[] {
  const parts = JSON.parse(JSON.stringify(chat.lastMessage?.parts ?? []));
  for (const part of parts) if (part.approval) part.approval.id = 'question';
  return parts;
}

export function lastText({ chat }: Page): string {
  return (chat.lastMessage?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Answers the only open question. */
export function answerQuestion({ chat }: Page, approved: boolean, reason?: string) {
  const parts = chat.lastMessage?.parts ?? [];
  const asked = parts.filter((part) => part.type === 'dynamic-tool' && part.state === 'approval-requested');
  const [first] = asked;
  if (asked.length !== 1 || first?.type !== 'dynamic-tool' || !first.approval)
    throw new Error(`${asked.length} questions`);
  return chat.addToolApprovalResponse({ id: first.approval.id, approved, ...(reason ? { reason } : {}) });
}
