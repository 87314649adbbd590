// `/logins`: callers log in at servers. `GET /logins` lists the servers that want it. `POST /logins/SERVER` answers with the address
// of the login page, and with `{ "redirected": "http://…?code=…" }` finishes the login. `DELETE /logins/SERVER` ends it.
import { readBody } from '@pocket-agent/http/byte-chunks';
import { errorText, isPocketError, isRecord, type Logger, publicErrorText } from '@pocket-agent/kit';
import type { Caller } from '../callers/caller.ts';
import type { OfferedLogin } from '../logins/logins.ts';

export const LOGINS_PATH = '/logins';

const MAX_BODY = 65_536;

interface Endpoint {
  /** Or the response that refuses the request. */
  callerOf(request: Request): Promise<Caller | Response>;
  loginsOf(caller: Caller): OfferedLogin[];
  logger: Logger;
}

export async function answerLogins(request: Request, { callerOf, loginsOf, logger }: Endpoint): Promise<Response> {
  const caller = await callerOf(request);
  if (caller instanceof Response) return caller;
  const { method } = request;
  const offered = loginsOf(caller);
  const name = new URL(request.url).pathname.slice(LOGINS_PATH.length + 1);
  if (method === 'GET' && name === '') {
    const servers = offered.map(async ({ server, login }) => ({ server, loggedIn: await login.isDone() }));
    return Response.json({ servers: await Promise.all(servers) });
  }
  if ((method !== 'POST' && method !== 'DELETE') || name === '')
    return refusal(405, `GET ${LOGINS_PATH}, or POST or DELETE ${LOGINS_PATH}/SERVER`);
  const found = offered.find(({ server }) => server === name);
  if (!found) return refusal(404, `There is no login at "${name}" for you.`);
  if (method === 'DELETE') {
    await found.end();
    return Response.json({ loggedIn: false });
  }
  const body = await readBody(request, MAX_BODY);
  if (!body) return refusal(413, `A request has at most ${MAX_BODY} bytes.`);
  const given = redirectIn(body.toString());
  if (given === 'malformed')
    return refusal(400, 'The body is {}, or { "redirected": "the address that the page led to" }.');
  try {
    return Response.json(await answer(found, given));
  } catch (error) {
    if (isPocketError(error, 'MCP_AUTHORIZATION_NEEDED')) return refusal(400, errorText(error));
    // what a connection says may quote what callers must not know
    logger.warn(`The login of caller "${caller.name}" at "${name}" failed: ${errorText(error)}`);
    return refusal(502, publicErrorText(error, 'The login'));
  }
}

async function answer({ login, check }: OfferedLogin, redirected: URL | undefined): Promise<object> {
  if (redirected) {
    await login.finish(redirected, check);
    return { loggedIn: true };
  }
  const page = await login.begin(check);
  return page ? { loggedIn: false, url: page.href, redirectUrl: login.redirectUrl } : { loggedIn: true };
}

function redirectIn(body: string): URL | undefined | 'malformed' {
  try {
    const given: unknown = body === '' ? {} : JSON.parse(body);
    if (isRecord(given)) return given.redirected === undefined ? undefined : new URL(String(given.redirected));
  } catch {
    // neither JSON nor an address
  }
  return 'malformed';
}

function refusal(status: number, error: string): Response {
  return Response.json({ error }, { status });
}
