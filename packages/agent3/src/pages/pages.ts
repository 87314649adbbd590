// The web pages, rendered on the server. Reading works without scripts: live.js updates the health badges, forms.js sends forms.
import { readFileSync } from 'node:fs';
import { type Logger, settlesWithin } from '@pocket-agent/kit';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { html } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import { type Callers, VISITOR } from '../api/callers.ts';
import { toRefusal } from '../api/errors.ts';
import { callLogQuery, searchQuery } from '../api/query.ts';
import { statementRequest } from '../base/account.ts';
import type { Agent3, Caller } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import { checkInput } from '../base/check-input.ts';
import { accountPage, statementPage } from './account-page.ts';
import { agentPage } from './agent-page.ts';
import { apiPage } from './api-page.ts';
import { rangeOf, spanOf } from './call-charts.ts';
import { callsPage } from './calls-page.ts';
import { registerPage } from './forms.ts';
import { icon, page, SECURITY } from './layout.ts';
import { moderationPage } from './moderation-page.ts';
import { scoresPage } from './scores-page.ts';
import { searchPage } from './search-page.ts';
import { nextPath, signInPage } from './sign-in-page.ts';

interface PagesOptions {
  agent3: Agent3;
  callers: Callers;
  /** Whether the hub keeps named tokens. */
  hasTokens: boolean;
  logger: Logger;
}

const CARD_WAIT_MS = 1_500;
const ASSET_SECONDS = 3_600;
const MAX_FORM_BYTES = 10_000;
const NO_PAGE = 'Page not found.';

export function makePages({ agent3, callers, hasTokens, logger }: PagesOptions): Hono {
  const app = new Hono();
  const assets = new Map([
    ['style.css', { type: 'text/css', body: fileBeside('style.css') }],
    ['live.js', { type: 'text/javascript', body: fileBeside('live.js') }],
    ['call.js', { type: 'text/javascript', body: fileBeside('call.js') }],
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

  /** Undefined for a visitor of a public hub; visitors of other pages sign in first. */
  const viewerOf = async ({ req }: Context, isNeeded = callers.isPrivate): Promise<Caller | undefined> => {
    const viewer = await callers.viewer(req.raw);
    if (viewer || !isNeeded) return viewer;
    const { pathname, search } = new URL(req.url);
    const location = `/sign-in?${new URLSearchParams({ next: `${pathname}${search}` })}`;
    throw new HTTPException(303, { res: new Response(null, { status: 303, headers: { location } }) });
  };
  const ownerOf = async (context: Context): Promise<Caller> => (await viewerOf(context, true)) ?? VISITOR;
  const isPrivatePage = { 'cache-control': 'no-store' };

  app.get('/', async (context) => {
    const viewer = await viewerOf(context);
    const parameters = new URL(context.req.url).searchParams;
    const [result, health] = await Promise.all([
      agent3.search(searchQuery(parameters), viewer ?? VISITOR),
      agent3.health(),
    ]);
    return context.html(searchPage({ parameters, result, health, viewer }));
  });
  app.get('/agents/:id', async (context) => {
    const viewer = await viewerOf(context);
    const caller = viewer ?? VISITOR;
    const agentId = context.req.param('id');
    const range = rangeOf(context.req.query('range'));
    const now = Date.now();
    const agent = await agent3.select(agentId, caller);
    const [statistics, invocation] = await Promise.all([
      agent3.statistics({ agentId, ...spanOf(range, now) }),
      withinTimeout(agent3.invoke(agentId, caller)),
    ]);
    return context.html(agentPage({ agent, statistics, range, invocation, now, viewer }));
  });
  app.get('/calls', async (context) => {
    const viewer = await ownerOf(context);
    const parameters = new URL(context.req.url).searchParams;
    const log = await agent3.calls(callLogQuery(parameters), viewer);
    return context.html(callsPage({ parameters, log, viewer }), 200, isPrivatePage);
  });
  app.get('/account', async (context) => {
    const viewer = await ownerOf(context);
    const account = await agent3.account(viewer);
    return context.html(accountPage({ account, hasTokens, viewer }), 200, isPrivatePage);
  });
  app.get('/statement', async (context) => {
    const viewer = await ownerOf(context);
    const statement = await agent3.statement(checkInput(statementRequest, context.req.query()), viewer);
    return context.html(statementPage(statement, viewer), 200, isPrivatePage);
  });
  app.get('/moderation', async (context) => {
    const viewer = await ownerOf(context);
    return context.html(moderationPage(await agent3.reports(viewer), viewer), 200, isPrivatePage);
  });
  app.get('/register', async (context) => context.html(registerPage(await viewerOf(context))));
  app.get('/scores', async (context) => context.html(scoresPage(await viewerOf(context))));
  app.get('/reference', async (context) => context.html(apiPage(await viewerOf(context))));
  addSignIn(app, callers);
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

function addSignIn(app: Hono, callers: Callers): void {
  app.get('/sign-in', (context) => context.html(signInPage({ next: nextPath(context.req.query('next')) })));
  app.post('/sign-in', bodyLimit({ maxSize: MAX_FORM_BYTES }), async (context) => {
    const { token, next } = await context.req.parseBody();
    const path = nextPath(typeof next === 'string' ? next : undefined);
    const cookie = typeof token === 'string' ? await callers.signIn(context.req.raw, token.trim()) : undefined;
    if (cookie === undefined) {
      const problem = 'This hub did not issue that token, or it has expired or was revoked.';
      return context.html(signInPage({ next: path, problem }), 401);
    }
    return context.body(null, 303, { location: path, 'set-cookie': cookie });
  });
  app.post('/sign-out', (context) =>
    context.body(null, 303, { location: '/', 'set-cookie': callers.signOut(context.req.raw) }),
  );
}

function errorPage(message: string) {
  const content = html`<h1>Error</h1><p>${message}</p><p><a href="/">Search for an agent</a></p>`;
  return page({ title: 'Agent3', content, viewer: undefined });
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
