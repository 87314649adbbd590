// An agent for AG-UI clients, on a Hono server. `HttpAgent` stands in for the page, which asks, is reloaded, and approves a call.
import assert from 'node:assert/strict';
import { HttpAgent, type RunAgentInput, runHttpRequest, transformHttpEventStream } from '@ag-ui/client';
import { serve } from '@hono/node-server';
import { aguiHandler } from '@pocket-agent/web';
import { Hono } from 'hono';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const book = tool({ name: 'book', description: 'Books a table', run: ({ people }) => `a table for ${people}` });
await using agent = new PocketAgent({
  llmModel: new ScriptedModel([{ toolCalls: [{ name: 'book', arguments: { people: 2 } }] }, 'Booked for two.']),
  tools: [book],
  access: { confirm: 'always' },
});
const agui = aguiHandler(agent, { authorize: (request) => request.headers.get('x-user') });
const app = new Hono().all('/agui', ({ req }) => agui(req.raw)).all('/agui/*', ({ req }) => agui(req.raw));

const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
await new Promise((resolve) => server.once('listening', resolve));
const address = server.address();
assert(typeof address === 'object' && address);

class Page extends HttpAgent {
  /** For `connectAgent()`: the messages so far, and the run in progress. */
  protected override connect(input: RunAgentInput) {
    return transformHttpEventStream(runHttpRequest(() => this.fetch(`${this.url}/connect`, this.requestInit(input))));
  }
}
const config = { url: `http://127.0.0.1:${address.port}/agui`, threadId: 'dinner', headers: { 'x-user': 'ada' } };

const page = new Page(config);
page.addMessage({ id: 'question', role: 'user', content: 'Book a table for two' });
await page.runAgent();
assert.equal(page.pendingInterrupts[0]?.message, 'May book run?');

const reloaded = new Page(config); // the user reloads the page before answering
await reloaded.connectAgent();
const resume = reloaded.pendingInterrupts.map(({ id }) => ({
  interruptId: id,
  status: 'resolved' as const,
  payload: { approved: true },
}));
await reloaded.runAgent({ resume });
console.log(reloaded.messages.at(-1));
assert.equal(reloaded.messages.at(-1)?.content, 'Booked for two.');
server.close();
