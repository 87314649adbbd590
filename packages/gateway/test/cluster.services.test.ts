// Two gateway processes with one PostgreSQL, behind nginx: one endpoint with the same tokens, limits and tools.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { quickStart } from '../../pocket-agent/test/fixtures/programs/quick-start.ts';
import {
  type ProtectedHost,
  startProtectedHost,
} from '../../pocket-agent/test/fixtures/servers/authorization-server.ts';
import { startPostgres } from '../../store/test/postgres.ts';
import { openGatewayState } from '../src/index.ts';
import { atEnd, connect, expectLoginsOfKnownCallers, kinds, namesOf, temporaryFolder, textOf } from './world.ts';

const main = join(import.meta.dirname, '../../cli/src/main.ts');
const server = join(import.meta.dirname, 'effects-server.ts');

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  return port;
}

function run(command: string, args: string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env });
  atEnd(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM'); // nginx ends its workers, and the gateway its servers
    await once(child, 'exit');
  });
  return child;
}

const health = (port: number) =>
  fetch(`http://127.0.0.1:${port}/health`).then(
    ({ status }) => status,
    () => 0,
  );

async function startCluster() {
  const postgres = await startPostgres();
  atEnd(() => postgres.stop());
  const location = await postgres.createDatabase();
  const folder = await temporaryFolder();
  const file = join(folder, 'gateway.json');
  const args = ['-C', 'pocket-agent/source', server, folder];
  const crm = await startProtectedHost();
  atEnd(() => crm.close());
  const mcpServers = {
    it: { command: process.execPath, args, waitMs: 60_000 },
    crm: { url: crm.url, login: true },
  };
  await writeFile(file, JSON.stringify({ mcpServers, access: { confirm: 'never' } }));
  const state = await openGatewayState(location);
  atEnd(() => state.close());
  const POCKET_AGENT_GATEWAY_LOGIN_KEY = 'the key of these tests and of no others';
  const env = { ...process.env, ...quickStart, POCKET_AGENT_GATEWAY_STATE: location, POCKET_AGENT_GATEWAY_LOGIN_KEY };
  const ports = [await freePort(), await freePort()];
  const processes = ports.map((port) =>
    run(process.execPath, ['-C', 'pocket-agent/source', main, 'gateway', '--http', '--port', String(port), file], env),
  );
  const port = await freePort();
  const conf = `
    daemon off; pid ${folder}/pid; error_log stderr crit; worker_processes 1;
    events {}
    http {
      access_log off;
      client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c;
      uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
      upstream gateways {
        hash $http_authorization consistent;
        ${ports.map((each) => `server 127.0.0.1:${each} max_fails=1 fail_timeout=2s;`).join(' ')}
      }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://gateways; proxy_http_version 1.1; proxy_set_header Host $http_host;
          proxy_buffering off; proxy_read_timeout 1h;
        }
      }
    }`;
  await writeFile(join(folder, 'nginx.conf'), conf);
  run('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], process.env);
  const patience = { timeout: 20_000 * Number(process.env.TEST_PATIENCE) };
  for (const each of [...ports, port]) await expect.poll(() => health(each), patience).toBe(200);
  const urlOf = (each: number) => `http://127.0.0.1:${each}/mcp`;
  return { state, url: urlOf(port), urls: ports.map(urlOf), processes, crm };
}

/** Begins a login at one process, and finishes it at another. */
async function logIn(crm: ProtectedHost, token: string, [first, second]: readonly string[]): Promise<unknown> {
  const post = async (url: string | undefined, body: object) => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(new URL('/logins/crm', url), { method: 'POST', headers, body: JSON.stringify(body) });
    return (await response.json()) as { url?: string };
  };
  const { url = '' } = await post(first, {});
  return post(second, { redirected: (await crm.logIn(new URL(url))).href });
}

test(
  'tokens, limits, logins and tools are those of one gateway, and the calls of a lost process go to the other',
  async () => {
    const { state, url, urls, processes, crm } = await startCluster();
    await expectLoginsOfKnownCallers(state);
    // callers are spread over the processes by their token, and a session of 2025 stays where it is
    const names = Array.from({ length: 6 }, (_, index) => `user-${index}`);
    const tokens = await Promise.all(names.map((name) => state.addCaller(name, { profile: 'admin', callsPerDay: 3 })));
    const clients = await Promise.all(
      tokens.map((token, index) => connect(kinds[index % kinds.length] ?? 'SDK v1', url, token)),
    );
    for (const client of clients) expect(await namesOf(client)).toEqual(['it__add', 'it__look']);
    const said = await Promise.all(clients.map((client, id) => client.call('it__look', { id }).then(textOf)));
    expect(said).toEqual(names.map((_, id) => String(id)));
    // both processes count: one call was made through nginx, one is made at each
    for (const each of urls) {
      const client = await connect('SDK v1', each, tokens[0] ?? '');
      expect(textOf(await client.call('it__look', { id: 7 }))).toBe('7');
    }
    expect(textOf((await clients[0]?.call('it__look', { id: 8 })) ?? { content: [] })).toContain(
      'you have made 3 calls',
    );
    // a revoked token is refused by both
    await state.removeCaller('user-1');
    for (const each of [...urls, url])
      await expect(connect('SDK v1', each, tokens[1] ?? '')).rejects.toThrow('Invalid token');
    // a login belongs to no process
    expect(await logIn(crm, tokens[2] ?? '', urls)).toEqual({ loggedIn: true });
    for (const each of urls) {
      const client = await connect('SDK v2 in 2026', each, tokens[2] ?? '');
      await expect.poll(() => namesOf(client)).toContain('crm__echo');
    }
    // one process is lost
    const [lost] = processes;
    lost?.kill('SIGKILL');
    if (lost) await once(lost, 'exit');
    for (const token of tokens.slice(2)) {
      const client = await connect('SDK v2 in 2026', url, token);
      expect(textOf(await client.call('it__look', { id: 9 }))).toBe('9');
    }
  },
  120_000 * Number(process.env.TEST_PATIENCE),
);
