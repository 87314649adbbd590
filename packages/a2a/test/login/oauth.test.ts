// OAuth in remoteAgent: tokens of the program, and of people who log in on another device.
import { type LoginStore, type RemoteAgentOptions, type RemoteOAuth, remoteAgent } from '@pocket-agent/a2a';
import type { PocketAgent, ToolSource } from 'pocket-agent';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resultText, silent } from '../../../pocket-agent/test/helpers.ts';
import { OAuthServer } from '../fixtures/oauth-server.ts';
import { World } from '../fixtures/world.ts';

const world = new World();
let server: OAuthServer;
/** Who has called the agent, in order. */
let callers: string[];
let url: string;

beforeEach(async () => {
  server = world.keep(await new OAuthServer().start());
  callers = [];
  const securitySchemes = { login: server.scheme };
  const agent = world.agent(Array.from({ length: 20 }, () => 'hello'));
  ({ url } = await world.serve(agent, {
    card: { securitySchemes, securityRequirements: [{ schemes: { login: { list: [] } } }] },
    authenticate: (request) => {
      const id = server.ownerOf(request.headers.get('authorization')?.replace('Bearer ', '') ?? '');
      if (id === undefined) return undefined;
      if (request.method === 'POST') callers.push(id);
      return { id };
    },
  }));
});
afterEach(() => world.close());

const program: RemoteOAuth = { clientId: 'robot', clientSecret: 'secret of robot' };

function remote(oauth: RemoteOAuth, options: Partial<RemoteAgentOptions> = {}): ToolSource {
  const allowHosts = [new URL(server.url).host];
  return remoteAgent({ url, name: 'Other', oauth, allowHosts, logger: silent, ...options });
}

/** An agent that calls the remote one `times` times in each run. */
function agentWith(source: ToolSource, times = 1): PocketAgent {
  const call = { name: 'Other-message', arguments: { message: 'hello' } };
  const script = Array.from({ length: 10 }, () => [{ toolCalls: Array(times).fill(call) }, 'done']).flat();
  return world.agent(script, { tools: [source] });
}

function callerOf(
  oauth: RemoteOAuth,
  { times = 1, ...options }: Partial<RemoteAgentOptions> & { times?: number } = {},
) {
  return agentWith(remote(oauth, options), times);
}

const lastResult = (agent: PocketAgent) =>
  resultText(agent, agent.messages.filter(({ role }) => role === 'tool').length - 1);

test('a program gets a token with its secret, once for concurrent calls, and keeps it', async () => {
  const agent = callerOf(program, { times: 3 });
  await agent.run('go');
  await agent.run('go');
  expect(callers).toEqual(Array(6).fill('robot'));
  expect(server.grants).toEqual(['client_credentials']);
});

test('a token that was revoked is replaced, once for concurrent calls', async () => {
  const agent = callerOf(program, { times: 3 });
  await agent.run('go');
  server.revokeAccess();
  await agent.run('go');
  expect(callers).toHaveLength(6);
  expect(server.grants).toEqual(['client_credentials', 'client_credentials']);
});

test('a wrong secret is reported without the secret, and the next call tries again', async () => {
  const agent = callerOf({ clientId: 'robot', clientSecret: 'planted-secret' });
  await agent.run('go');
  expect(lastResult(agent)).toContain('issued no token (invalid_client)');
  expect(JSON.stringify(agent.messages)).not.toContain('planted-secret');
  expect(callers).toEqual([]);
});

/** Logs callers in at once, as themselves; `seen` has what they were shown. */
function people(store?: LoginStore) {
  const seen: { caller?: string; userCode: string; url: string }[] = [];
  const oauth: RemoteOAuth = {
    clientId: 'public',
    onLogin: (login) => {
      seen.push(login);
      server.decide(login.userCode, login.caller ?? 'somebody');
    },
    ...(store ? { logins: store } : {}),
  };
  return { seen, oauth };
}

test('a person logs in on another device, once for concurrent calls', async () => {
  const { seen, oauth } = people();
  const agent = callerOf(oauth, { times: 3 });
  const progress: unknown[] = [];
  await agent.run('go', {
    caller: 'ann',
    onEvent: ({ type, data }) => type === 'tool_progress' && progress.push(Object(data).message),
  });
  expect(callers).toEqual(['ann', 'ann', 'ann']);
  expect(seen).toEqual([expect.objectContaining({ caller: 'ann', url: 'https://login.example/device' })]);
  expect(progress).toContain(`Waiting for a login at https://login.example/device with the code ${seen[0]?.userCode}.`);
});

test('no caller gets the token of another, also not in one agent and at the same time', async () => {
  const { seen, oauth } = people();
  const source = remote(oauth);
  const names = ['ann', 'bob', 'cy'];
  const agents = names.map((name) => [name, agentWith(source, 2)] as const);
  await Promise.all(agents.map(([caller, agent]) => agent.run('go', { caller })));
  expect(callers.toSorted()).toEqual(names.flatMap((name) => [name, name]));
  const [, first] = agents[0] ?? [];
  await first?.run('go', { caller: 'bob' });
  expect(callers.slice(6)).toEqual(['bob', 'bob']);
  expect(seen).toHaveLength(3);
});

test('an expired token is refreshed without a login, once for concurrent calls; each refresh token is used once', async () => {
  server.lifeSeconds = 0.01;
  const { seen, oauth } = people();
  const agent = callerOf(oauth, { times: 3 });
  await agent.run('go', { caller: 'ann' });
  for (let run = 0; run < 2; run++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await agent.run('go', { caller: 'ann' });
  }
  expect(callers).toEqual(Array(9).fill('ann'));
  expect(seen).toHaveLength(1);
  expect(server.grants.filter((grant) => grant === 'refresh_token').length).toBeGreaterThanOrEqual(2);
});

test('a token server that fails does not cost the login', async () => {
  const { seen, oauth } = people();
  const agent = callerOf(oauth);
  await agent.run('go', { caller: 'ann' });
  server.revokeAccess();
  server.failures.push({ status: 503, body: 'later' });
  await agent.run('go', { caller: 'ann' });
  expect(lastResult(agent)).toContain('issued no token');
  await agent.run('go', { caller: 'ann' });
  expect([callers, seen.length]).toEqual([['ann', 'ann'], 1]);
});

test('logins that are stored outlive the process; one that was revoked is asked for again', async () => {
  const secrets = new Map<string | undefined, string | undefined>();
  const store: LoginStore = {
    read: (caller) => secrets.get(caller),
    write: (caller, secret) => void secrets.set(caller, secret),
  };
  const { seen, oauth } = people(store);
  await callerOf(oauth).run('go', { caller: 'ann' });
  await callerOf(oauth).run('go', { caller: 'ann' }); // another process
  expect([callers, seen.length]).toEqual([['ann', 'ann'], 1]);
  server.revokeRefresh();
  await callerOf(oauth).run('go', { caller: 'ann' });
  expect([callers.at(-1), seen.length]).toEqual(['ann', 2]);
});

test('a person who refuses is reported, and the next call asks again', async () => {
  let answer = 'denied';
  const agent = callerOf({ clientId: 'public', onLogin: ({ userCode }) => server.decide(userCode, answer) });
  await agent.run('go');
  expect(lastResult(agent)).toContain('issued no token (access_denied)');
  answer = 'ann';
  await agent.run('go');
  expect(callers).toEqual(['ann']);
});

test('an abort ends the wait for a login, and so does closing the agent', async () => {
  const shown = Promise.withResolvers<void>();
  const agent = callerOf({ clientId: 'public', onLogin: () => shown.resolve() });
  const controller = new AbortController();
  const run = agent.run('go', { signal: controller.signal });
  await shown.promise;
  controller.abort(new Error('enough'));
  await expect(run).rejects.toThrow('aborted');
  await agent.close();
  const polls = server.grants.length;
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(server.grants.length).toBeLessThanOrEqual(polls + 1);
});

test('addresses that only the card names, on a host that may not have the credentials, are not called', async () => {
  const agent = callerOf(program, { allowHosts: [] });
  await agent.run('go');
  expect(lastResult(agent)).toContain(`needs oauth.tokenUrl`);
  expect(server.grants).toEqual([]);
});

test('a token address that is private or plain http is refused', async () => {
  for (const tokenUrl of [`${server.url}/token`, 'https://10.0.0.1/token', 'ftp://tokens.example/'])
    await expect(
      (async () => {
        const agent = callerOf({ ...program, tokenUrl }, { allowHosts: [] });
        await agent.run('go');
        throw new Error(lastResult(agent));
      })(),
    ).rejects.toThrow(/not https|private/);
  expect(server.grants).toEqual([]);
});

test.each<[string, Partial<RemoteAgentOptions>]>([
  ['oauth.clientId', { oauth: { clientId: '', clientSecret: 'x' } }],
  ['a clientSecret or onLogin', { oauth: { clientId: 'x' } }],
  ['either "token" or "oauth"', { oauth: program, token: 'x' }],
])('options without %s are refused', (reason, options) => {
  expect(() => remoteAgent({ url: 'https://a.example', ...options })).toThrow(reason);
});
