// `npm run bench:gateway`: the cost of a gateway per tool call, compared with mcp-proxy and a direct connection. Clients speak
// HTTP to both. The server behind them, and behind the direct connection, is the same, on stdio. Writes RESULTS.md.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { showHelp } from '../../scripts/show-help.ts';

type Name = 'direct' | 'mcp-proxy' | 'gateway';

interface Figures {
  /** Milliseconds of a call. */
  oneByOne: number;
  /** Milliseconds from one answer to the next. */
  inFlight: number;
  /** Milliseconds of processor time of the gateway or proxy for a call, one by one. */
  processor: number;
}

const ROUNDS = 15;
const CALLS = 100;
const CHAINS = 64;
const CHAIN_CALLS = 8;
const WARM_UP = 300;
const TARGET = 0.5;
const CLOCK_TICK_MS = 10;
const names: readonly Name[] = ['direct', 'mcp-proxy', 'gateway'];
const pathTo = (path: string) => fileURLToPath(import.meta.resolve(path));
const node = process.execPath;
const server = [node, '-C', 'pocket-agent/source', pathTo('../servers/bench-server.ts'), 'stdio'] as const;
const proxyFolder = pathTo('../peers/mcp-proxy');

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

interface Setup {
  transport(): Transport;
  /** The gateway or proxy; undefined for the direct connection. */
  pid?: number | undefined;
}

/** Starts a program that ends with this one. */
function startProgram(args: readonly string[], env: NodeJS.ProcessEnv = process.env): number | undefined {
  const child = spawn(node, args, { stdio: 'ignore', env });
  process.once('exit', () => child.kill());
  return child.pid;
}

/** The processor time of a process in milliseconds (Linux only). */
function processorTime(pid: number | undefined): number {
  if (pid === undefined) return 0;
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number);
  return (user + system) * CLOCK_TICK_MS;
}

async function startGateway(folder: string): Promise<Setup> {
  const [command, ...args] = server;
  const file = join(folder, 'gateway.json');
  const mcpServers = { bench: { command, args } };
  writeFileSync(file, JSON.stringify({ mcpServers, names: 'plain', access: { confirm: 'never' } }));
  const program = ['-C', 'pocket-agent/source', pathTo('../../packages/cli/src/main.ts'), 'gateway'];
  const env = { ...process.env, POCKET_AGENT_GATEWAY_STATE: join(folder, 'state.sqlite') };
  const output = execFileSync(node, [...program, 'token', 'add', 'bench', '--profile', 'admin'], { env }).toString();
  const port = await freePort();
  const pid = startProgram([...program, '--http', '--port', String(port), file], env);
  const headers = { authorization: `Bearer ${/pgw_\S+/.exec(output)?.[0]}` };
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  return { pid, transport: () => new StreamableHTTPClientTransport(url, { requestInit: { headers } }) };
}

async function startProxy(): Promise<Setup> {
  const { status } = spawnSync('npm', ['ci', '--silent', '--no-audit', '--no-fund'], { cwd: proxyFolder });
  if (status !== 0) throw new Error('npm ci failed in bench/peers/mcp-proxy.');
  const port = await freePort();
  const program = join(proxyFolder, 'node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs');
  const pid = startProgram([
    program,
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--server',
    'stream',
    '--',
    ...server,
  ]);
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  return { pid, transport: () => new StreamableHTTPClientTransport(url) };
}

/** Retries until the server listens. All clients speak 2025, as mcp-proxy does. */
async function connected({ transport }: Setup): Promise<Client> {
  for (let attempt = 0; ; attempt++) {
    const client = new Client({ name: 'bench', version: '1' });
    try {
      await client.connect(transport());
      await client.listTools();
      return client;
    } catch (error) {
      if (attempt === 100) throw error;
      await setTimeout(300);
    }
  }
}

async function call(client: Client): Promise<void> {
  const { isError, content } = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
  const [part] = content;
  if (isError || part?.type !== 'text' || part.text !== '3')
    throw new Error(`A call failed: ${JSON.stringify(content)}`);
}

async function measure(client: Client, { pid }: Setup): Promise<Figures> {
  const times: number[] = [];
  const before = processorTime(pid);
  for (let index = 0; index < CALLS; index++) {
    const startedAt = performance.now();
    await call(client);
    times.push(performance.now() - startedAt);
  }
  const processor = (processorTime(pid) - before) / CALLS;
  const startedAt = performance.now();
  const chain = async () => {
    for (let index = 0; index < CHAIN_CALLS; index++) await call(client);
  };
  await Promise.all(Array.from({ length: CHAINS }, chain));
  const inFlight = (performance.now() - startedAt) / (CHAINS * CHAIN_CALLS);
  return { oneByOne: median(times), inFlight, processor };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function report(rounds: readonly Record<Name, Figures>[], load: number): string {
  const row = (title: string, figure: keyof Figures) => {
    const direct = median(rounds.map((round) => round.direct[figure]));
    const added = (name: Name) => median(rounds.map((round) => round[name][figure] - round.direct[figure]));
    const ratio = added('gateway') / added('mcp-proxy');
    const verdict = ratio <= TARGET ? 'met' : '**missed**';
    const cells = [
      title,
      direct.toFixed(2),
      added('mcp-proxy').toFixed(2),
      added('gateway').toFixed(2),
      `${ratio.toFixed(2)} ×`,
    ];
    return `| ${[...cells, `≤ ${TARGET} ×`, verdict].join(' | ')} |`;
  };
  return `# What a gateway adds to a call

In milliseconds; medians of ${rounds.length} rounds. "Added" is the difference to the direct connection in the same round.
\`npm run bench:gateway\` writes this page. Before the run the load was ${load.toFixed(1)} per core${load > 0.5 ? ': the times are too long, and only their ratio is meaningful' : ''}.

| | direct | added by mcp-proxy | added by the gateway | gateway / mcp-proxy | target | |
|---|---|---|---|---|---|---|
${row('one by one', 'oneByOne')}
${row(`${CHAINS} in flight, per call`, 'inFlight')}
${row('processor time of the proxy or gateway, one by one', 'processor')}

A process that speaks MCP on both sides with the SDK cannot reach the target: see the profile in
[decision 033](../../docs/decisions/033-what-a-gateway-costs.md).
`;
}

showHelp(`npm run bench:gateway   measures what a gateway adds to a tool call, compared with mcp-proxy and a direct connection,
                        and writes bench/gateway/RESULTS.md
`);
const folder = mkdtempSync(join(tmpdir(), 'pocket-agent-bench-'));
try {
  const [load = 0] = loadavg();
  const [command, ...args] = server;
  const setups: Record<Name, Setup> = {
    direct: { transport: () => new StdioClientTransport({ command, args }) },
    'mcp-proxy': await startProxy(),
    gateway: await startGateway(folder),
  };
  const clients = new Map<Name, Client>();
  for (const name of names) clients.set(name, await connected(setups[name]));
  const clientOf = (name: Name) => clients.get(name) as Client;
  for (const name of names) for (let index = 0; index < WARM_UP; index++) await call(clientOf(name));
  const rounds: Record<Name, Figures>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const figures: Partial<Record<Name, Figures>> = {};
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      figures[name] = await measure(clientOf(name), setups[name]);
    }
    rounds.push(figures as Record<Name, Figures>);
  }
  for (const client of clients.values()) await client.close();
  const page = report(rounds, load / availableParallelism());
  writeFileSync(pathTo('./RESULTS.md'), page);
  console.log(page);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
