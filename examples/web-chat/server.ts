// A React page with `useChat`, on a plain Hono server: `npm run web-chat`. MODEL names the model; default: the demo model.
import { fileURLToPath } from 'node:url';
import { serve } from '@hono/node-server';
import { chatHandler } from '@pocket-agent/web';
import { Hono } from 'hono';
import { PocketAgent, tool } from 'pocket-agent';
import { rolldown } from 'rolldown';

const refund = tool({
  name: 'refund',
  description: 'Refunds an order',
  inputSchema: { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] },
  run: ({ order }) => `Order ${order} is refunded.`,
});
const agent = new PocketAgent({
  name: 'Shop',
  llmModel: process.env.MODEL ?? 'demo',
  tools: [refund],
  access: { confirm: 'write' },
});
// all visitors are one user; an application returns the user of the session
const chat = chatHandler(agent, { authorize: () => 'me' });

const page = fileURLToPath(new URL('page.jsx', import.meta.url));
const bundle = await rolldown({
  input: page,
  platform: 'browser',
  logLevel: 'silent', // React's modules for servers cause warnings
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
});
const { output } = await bundle.generate({ format: 'esm', codeSplitting: false });
await bundle.close();

const html =
  '<!doctype html><html lang="en"><title>Shop</title><main></main><script type="module" src="/page.js"></script>';
const app = new Hono()
  .get('/', ({ html: send }) => send(html))
  .get('/page.js', ({ body }) => body(output[0].code, 200, { 'content-type': 'text/javascript' }))
  .all('/api/chat', ({ req }) => chat(req.raw))
  .all('/api/chat/*', ({ req }) => chat(req.raw));

const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 0), hostname: '127.0.0.1' }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}/#support`),
);
process.once('SIGTERM', () => {
  server.close();
  void agent.close().then(() => process.exit());
});
