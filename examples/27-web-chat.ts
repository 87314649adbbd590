// An agent behind `useChat`, on a Hono server. The AI SDK's class `Chat` stands in for the page, which asks and approves a call.
// docs/web-pages.md has the page itself.
import assert from 'node:assert/strict';
import { Chat } from '@ai-sdk/react';
import { serve } from '@hono/node-server';
import { chatHandler } from '@pocket-agent/web';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import { Hono } from 'hono';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const book = tool({ name: 'book', description: 'Books a table', run: ({ people }) => `a table for ${people}` });
await using agent = new PocketAgent({
  llmModel: new ScriptedModel([{ toolCalls: [{ name: 'book', arguments: { people: 2 } }] }, 'Booked for two.']),
  tools: [book],
  access: { confirm: 'always' },
});
const chat = chatHandler(agent, { authorize: (request) => request.headers.get('x-user') });
const app = new Hono().all('/api/chat', ({ req }) => chat(req.raw)).all('/api/chat/*', ({ req }) => chat(req.raw));

const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
await new Promise((resolve) => server.once('listening', resolve));
const address = server.address();
assert(typeof address === 'object' && address);

const page = new Chat<UIMessage>({
  id: 'dinner',
  transport: new DefaultChatTransport({
    api: `http://127.0.0.1:${address.port}/api/chat`,
    headers: { 'x-user': 'ada' },
  }),
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
});
await page.sendMessage({ text: 'Book a table for two' });
const asked = page.lastMessage?.parts.find((part) => part.type === 'dynamic-tool');
assert(asked?.state === 'approval-requested');
await page.addToolApprovalResponse({ id: asked.approval.id, approved: true });
while (page.status !== 'ready' || page.lastMessage?.parts.at(-1)?.type !== 'text')
  await new Promise((resolve) => setTimeout(resolve, 10));

const last = page.lastMessage?.parts.at(-1);
console.log(last);
assert(last?.type === 'text' && last.text === 'Booked for two.');
server.close();
