import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PocketAgentClient, tool } from 'pocket-agent';
import { scriptedServer } from 'pocket-agent/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HttpServer, serveHttp } from '../../../src/serve/http-server.ts';
import { silent } from '../../helpers.ts';

// Many MCP servers stand behind nginx, which buffers streams, cuts idle ones and answers 502 for a server that is down.

let folder: string;
let nginx: ChildProcess;
let proxyPort: number;
let serverPort: number;
const aborted: string[] = [];
const clients: PocketAgentClient[] = [];

const slow = tool({
  name: 'slow',
  description: 'Reports progress, then waits until it is told to stop',
  annotations: { readOnlyHint: true },
  run: (_args, { progress, signal }) =>
    new Promise((_resolve, reject) => {
      progress({ progress: 1, message: 'started' });
      signal.addEventListener('abort', () => {
        aborted.push('slow');
        reject(signal.reason);
      });
    }),
});
const ping = tool({ name: 'ping', description: 'Pongs', annotations: { readOnlyHint: true }, run: () => 'pong' });

async function startServer(): Promise<HttpServer> {
  return serveHttp(await scriptedServer([slow, ping]), { port: serverPort, allowedHosts: ['127.0.0.1', 'localhost'] });
}

function client(): PocketAgentClient {
  const made = new PocketAgentClient({
    mcpConfig: { mcpServers: { proxied: { url: `http://127.0.0.1:${proxyPort}/mcp` } } },
    logger: silent,
  });
  clients.push(made);
  return made;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || !address) throw new Error('no port');
  return address.port;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pocket-agent-nginx-'));
  [proxyPort, serverPort] = [await freePort(), await freePort()];
  const conf = `
    daemon off; pid ${folder}/pid; error_log stderr crit; worker_processes 1;
    events {}
    http {
      access_log off;
      client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c;
      uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
      server { listen 127.0.0.1:${proxyPort}; location / { proxy_pass http://127.0.0.1:${serverPort}; proxy_http_version 1.1; } }
    }`;
  await writeFile(join(folder, 'nginx.conf'), conf);
  nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: ['ignore', 'ignore', 'inherit'] });
  const failed = new Promise<never>((_resolve, reject) => {
    nginx.once('error', () => reject(new Error('nginx is not installed: apt-get install nginx-light')));
    nginx.once('exit', (code) => reject(new Error(`nginx ended with ${code}`)));
  });
  const up = async () => {
    while (!(await fetch(`http://127.0.0.1:${proxyPort}/`).catch(() => undefined))) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.race([up(), failed]);
});

afterAll(async () => {
  await Promise.all(clients.map((made) => made.close()));
  nginx.removeAllListeners('exit');
  const ended = new Promise((resolve) => nginx.once('exit', resolve));
  nginx.kill('SIGTERM');
  await ended;
  await rm(folder, { recursive: true, force: true });
});

describe('behind nginx with its default settings', () => {
  test('progress arrives while the call runs, and an abort reaches the server', async () => {
    const server = await startServer();
    const controller = new AbortController();
    const seen: string[] = [];
    const call = client().callTool(
      'slow',
      {},
      {
        signal: controller.signal,
        progress: ({ message }) => {
          seen.push(message ?? '');
          controller.abort(new Error('seen enough'));
        },
      },
    );
    await expect(call).rejects.toThrow('seen enough');
    expect(seen).toEqual(['started']);
    await expect.poll(() => aborted).toEqual(['slow']);
    await server.close();
  });

  test('a server that was down behind the proxy is used again when it is back', async () => {
    const first = await startServer();
    const proxied = client();
    expect((await proxied.callTool('ping', {})).content).toMatchObject([{ text: 'pong' }]);
    await first.close();
    await expect(proxied.callTool('ping', {})).rejects.toThrow();
    const second = await startServer();
    expect((await proxied.callTool('ping', {})).content).toMatchObject([{ text: 'pong' }]);
    await second.close();
  });
});
