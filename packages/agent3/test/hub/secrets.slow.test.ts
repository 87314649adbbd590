// Gives Agent3 secrets in every input that takes them, and searches all output for them.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { expectLittleWork } from '../../../pocket-agent/test/helpers.ts';
import { Redactor } from '../../src/base/clean-text.ts';
import { type Credential, OwnerTokens, type Registration, RemoteAgent3 } from '../../src/index.ts';
import { atEnd } from '../fixtures/cleanup.ts';
import { cardOf, type Json, sendJson, serve } from '../fixtures/local-server.ts';
import { ask, connect, connectTo, keptLog, open, startHub, temporaryFolder, tokens } from '../fixtures/mcp-setup.ts';

const SECRET_KEY = 'planted-secret-key-that-encrypts';
const OLD_KEY = 'planted-old-secret-key-of-before';
const owner = tokens.issue('alice');

const planted: { credential: Credential; secrets: string[]; schemes: Json }[] = [
  {
    credential: { type: 'bearer', token: 'planted-bearer-token' },
    secrets: ['planted-bearer-token'],
    schemes: { s: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  },
  {
    credential: { type: 'apiKey', key: 'planted-header-key' },
    secrets: ['planted-header-key'],
    schemes: { s: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
  },
  {
    credential: { type: 'apiKey', key: 'planted-query-key' },
    secrets: ['planted-query-key'],
    schemes: { s: { apiKeySecurityScheme: { location: 'query', name: 'key' } } },
  },
  {
    credential: { type: 'basic', username: 'planted-user-name', password: 'planted-password' },
    secrets: ['planted-password', Buffer.from('planted-user-name:planted-password').toString('base64')],
    schemes: { s: { httpAuthSecurityScheme: { scheme: 'Basic' } } },
  },
  {
    credential: { type: 'oauth2', clientId: 'planted-client', clientSecret: 'planted-client-secret' },
    secrets: ['planted-client-secret', 'planted-access-token'],
    schemes: {},
  },
];

const all = [...planted.flatMap(({ secrets }) => secrets), SECRET_KEY, OLD_KEY, owner, owner.split('_')[2] ?? ''];

interface Spiteful {
  url: string;
  seen: string[];
}

/** An agent that echoes everything it was sent: in its answer, in errors and in headers. */
async function startSpiteful(): Promise<Spiteful> {
  const seen: string[] = [];
  const url = await serve(async (request, response) => {
    const body = await text(request);
    const everything = `${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body}`;
    seen.push(everything);
    if (request.url?.startsWith('/token'))
      return sendJson(response, { access_token: 'planted-access-token', token_type: 'bearer' });
    const rpc = JSON.parse(/^\{/.test(body) ? body : '{}');
    const wanted = JSON.stringify(rpc.params ?? {});
    response.setHeader('x-echo', encodeURIComponent(everything));
    if (wanted.includes('refuse')) return sendJson(response, { error: everything }, 401);
    if (wanted.includes('break'))
      return sendJson(response, { jsonrpc: '2.0', id: rpc.id, error: { code: -32_000, message: everything } });
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: everything }, { data: { everything } }] };
    return sendJson(response, { jsonrpc: '2.0', id: rpc.id, result: { message } });
  });
  return { url, seen };
}

test('no secret appears in the API, MCP, pages, errors, logs or the database', async () => {
  const folder = await temporaryFolder();
  const { lines, logger } = keptLog();
  const agent3 = await open({
    file: join(folder, 'agent3.db'),
    secretKey: SECRET_KEY,
    oldSecretKeys: [OLD_KEY],
    logger,
  });
  const hub = await startHub({ agent3, logger });
  const mcp = await connectTo(hub, 'alice');
  const local = await connect({ agent3, logger });
  const remote = new RemoteAgent3({ url: hub.url, token: owner });
  atEnd(() => remote.close());
  const spiteful = await startSpiteful();
  const out: string[] = [];
  const keep = (...answers: unknown[]) => out.push(...answers.map((answer) => JSON.stringify(answer)));

  for (const [index, { credential, schemes }] of planted.entries()) {
    const isOAuth = credential.type === 'oauth2';
    const flows = { clientCredentials: { tokenUrl: `${spiteful.url}/token`, scopes: {} } };
    const card = cardOf(`${spiteful.url}/${index}`, {
      name: `Spiteful ${index}`,
      securitySchemes: isOAuth ? { s: { oauth2SecurityScheme: { flows } } } : schemes,
      securityRequirements: [{ schemes: { s: { list: [] } } }],
    });
    const body = { card, credentials: [credential] };
    const registered = await ask(hub, '/api/agents', { owner: 'alice', body });
    expect(registered.status, registered.text).toBe(201);
    const { id } = registered.body;
    const told = await ask(hub, '/api/calls', { owner: 'alice', body: { agentId: id, message: 'speak' } });
    expect(told.body, told.text).toMatchObject({ success: true });
    keep(registered, told);
    for (const message of ['refuse', 'break', 'speak']) {
      const call = { agentId: id, message };
      const lined = { owner: 'alice', headers: { accept: 'application/x-ndjson' }, body: call };
      keep(
        await ask(hub, '/api/calls', lined),
        await mcp.call('agent3_call', call),
        await local.call('agent3_call', call),
      );
      keep(await remote.call(call));
    }
    keep(await mcp.call('agent3_select', { agentId: id }), await mcp.call('agent3_invoke', { agentId: id }));
    keep(
      await ask(hub, `/api/agents/${id}`),
      await ask(hub, `/api/agents/${id}/card`),
      await ask(hub, `/agents/${id}`),
    );
    // invalid registrations that contain a secret
    const wrong: Registration[] = [
      { ...body, card: { name: 'half' } },
      { ...body, cardUrl: 'http://127.0.0.1:1/' },
      { cardUrl: 'http://127.0.0.1:1/', credentials: [credential] },
      { card, credentials: [{ ...credential, type: 'bearer', token: '', ...{ key: 'x' } }] },
      { card, credentials: [{ ...credential, ...{ colour: 'red' } }] },
    ];
    for (const one of wrong) {
      keep(await ask(hub, '/api/agents', { owner: 'alice', body: one }));
      keep(await mcp.call('agent3_register', { ...one }).catch(String));
      keep(await remote.register(one).catch(String));
    }
  }
  const forged = new OwnerTokens({ key: 'another' }).issue('alice');
  keep(await ask(hub, '/api/calls', { token: forged, body: { agentId: 'x', message: 'x' } }));
  keep(await ask(hub, '/'), await ask(hub, '/api/agents?query=spiteful'), await ask(hub, '/openapi.json'));
  keep(await ask(hub, '/api/statistics'), await ask(hub, '/api/health'), await mcp.call('agent3_health'));
  // the secrets were sent where they belong
  const sent = spiteful.seen.join('\n');
  const used = planted.flatMap(({ secrets }) => secrets).filter((secret) => sent.includes(secret));
  expect(used).toEqual(expect.arrayContaining(['planted-bearer-token', 'planted-query-key', 'planted-access-token']));

  const files = await readdir(folder);
  const stored = await Promise.all(files.map((name) => readFile(join(folder, name), 'latin1')));
  expect(stored.join('').length).toBeGreaterThan(10_000);
  const places = { answers: out.join('\n'), log: lines.join('\n'), database: stored.join('\n') };
  for (const [place, content] of Object.entries(places)) {
    for (const secret of [...all, forged]) {
      const forms = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').replace(/=+$/, '')];
      for (const form of forms) {
        const at = content.indexOf(form);
        expect(at === -1 ? '' : `${place}: …${content.slice(Math.max(0, at - 100), at + 100)}…`).toBe('');
      }
    }
  }
});

test('long repetitive secrets are found in linear time: whole, in bytes, and cut off at the end', () => {
  const secrets = Array.from({ length: 10 }, (_, number) => `${'a'.repeat(5_000)}${number}${'a'.repeat(4_990)}`);
  const [secret = ''] = secrets;
  const redactor = new Redactor();
  redactor.add(secrets);
  const before = process.threadCpuUsage();
  expect(redactor.redact('a'.repeat(200_000))).toHaveLength(200_000);
  expect(redactor.divide(`${'a'.repeat(9_000)}c`).held).toBe('');
  expectLittleWork(before);
  expect(redactor.redact(`x${secret}y${secret}`)).toBe('x[secret removed]y[secret removed]');
  expect(redactor.divide(`x${secret.slice(0, 6_000)}`)).toEqual({ safe: 'x', held: secret.slice(0, 6_000) });
  expect(redactor.holdsSecret(Buffer.from(`é${secret}é`))).toBe(true);
  expect(redactor.holdsSecret(Buffer.from(secret.slice(1)))).toBe(false);
});
