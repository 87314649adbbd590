// The web pages, rendered on the server. Reading works without scripts: live.js updates the health badges, forms.js sends forms.
import { readFileSync } from 'node:fs';
import { type Logger, settlesWithin } from '@pocket-agent/kit';
import { Hono } from 'hono';
import { html } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import type { Callers } from '../api/callers.ts';
import { toRefusal } from '../api/errors.ts';
import { callLogQuery, searchQuery } from '../api/query.ts';
import type { Agent3 } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import { agentPage } from './agent-page.ts';
import { apiPage } from './api-page.ts';
import { rangeOf, spanOf } from './call-charts.ts';
import { callsPage } from './calls-page.ts';
import { registerPage } from './forms.ts';
import { icon, page, SECURITY } from './layout.ts';
import { searchPage } from './search-page.ts';

interface PagesOptions {
  agent3: Agent3;
  callers: Callers;
  logger: Logger;
}

const CARD_WAIT_MS = 1_500;
const ASSET_SECONDS = 3_600;
const NO_PAGE = 'Page not found.';

export function makePages({ agent3, callers, logger }: PagesOptions): Hono {
  const app = new Hono();
  const assets = new Map([
    ['style.css', { type: 'text/css', body: fileBeside('style.css') }],
    ['live.js', { type: 'text/javascript', body: fileBeside('live.js') }],
    ['forms.js', { type: 'text/javascript', body: fileBeside('forms.js') }],
    ['icon.svg', { type: 'image/svg+xml', body: icon }],
  ]);

  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(SECURITY)) context.header(name, value);
  });
  app.onError((error, context) => {
    if (error instanceof HTTPException) return error.getResponse();
    const { status, message } = toRefusal(error, logger);
    return context.html(errorPage(message), status, SECURITY);
  });

  app.get('/', async (context) => {
    const caller = callers.reader(context.req.raw);
    const parameters = new URL(context.req.url).searchParams;
    const [result, health] = await Promise.all([agent3.search(searchQuery(parameters), caller), agent3.health()]);
    return context.html(searchPage({ parameters, result, health }));
  });
  app.get('/agents/:id', async (context) => {
    const caller = callers.reader(context.req.raw);
    const agentId = context.req.param('id');
    const range = rangeOf(context.req.query('range'));
    const now = Date.now();
    const agent = await agent3.select(agentId, caller);
    const [statistics, invocation] = await Promise.all([
      agent3.statistics({ agentId, ...spanOf(range, now) }),
      withinTimeout(agent3.invoke(agentId, caller)),
    ]);
    return context.html(agentPage({ agent, statistics, range, invocation, now }));
  });
  app.get('/calls', async (context) => {
    const caller = callers.privateReader(context.req.raw);
    const parameters = new URL(context.req.url).searchParams;
    const log = await agent3.calls(callLogQuery(parameters), caller);
    return context.html(callsPage({ parameters, log, isAdmin: caller.isAdmin === true }), 200, {
      'cache-control': 'no-store',
    });
  });
  app.get('/register', (context) => {
    callers.reader(context.req.raw);
    return context.html(registerPage());
  });
  app.get('/reference', (context) => {
    callers.reader(context.req.raw);
    return context.html(apiPage());
  });
  app.get('/assets/:name', async (context) => {
    const asset = assets.get(context.req.param('name'));
    if (!asset) return context.html(errorPage(NO_PAGE), 404);
    return context.body(asset.body, 200, {
      'content-type': `${asset.type}; charset=utf-8`,
      'cache-control': `public, max-age=${ASSET_SECONDS}`,
    });
  });
  app.get('*', (context) => context.html(errorPage(NO_PAGE), 404));
  return app;
}

function errorPage(message: string) {
  const content = html`<h1>Error</h1><p>${message}</p><p><a href="/">Search for an agent</a></p>`;
  return page({ title: 'Agent3', content });
}

/** Undefined after a short wait, or if Agent3 fails. */
async function withinTimeout<Value>(result: Promise<Value>): Promise<Value | undefined> {
  result.catch(() => {}); // it may fail after the timeout
  try {
    return (await settlesWithin(CARD_WAIT_MS, result)) ? await result : undefined;
  } catch (error) {
    if (error instanceof Agent3Error) return undefined;
    throw error;
  }
}

function fileBeside(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
