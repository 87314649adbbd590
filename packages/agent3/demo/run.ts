// The demo: three real agents are found, called and rated by an MCP client and by a PocketAgent.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { showHelp } from '../../../scripts/show-help.ts';

showHelp(`npm run agent3:demo              three agents are found, called and rated; needs no API key
npm run agent3:demo -- --pages   then serves the web pages of the hub until Ctrl+C
`);
const TOKEN = randomBytes(16).toString('hex');
const folder = await mkdtemp(join(tmpdir(), 'agent3-demo-'));
const agent3 = {
  command: process.execPath,
  args: ['-C', 'pocket-agent/source', fileURLToPath(new URL('../src/main.ts', import.meta.url))],
  env: {
    PATH: process.env.PATH ?? '',
    AGENT3_DB: join(folder, 'agent3.db'),
    AGENT3_ALLOW_HOSTS: '127.0.0.1',
    AGENT3_SECRET_KEY: randomBytes(32).toString('base64'),
    // the consent of the person who runs the demo; a model cannot give it
    AGENT3_DOLLARS_PER_CALL: '0.05',
    AGENT3_DOLLARS_PER_DAY: '1',
  },
};
const children: ChildProcess[] = [];

try {
  heading('Three A2A agents start, each in its own process');
  print('(loading them from TypeScript takes a few seconds)');
  const [weather, translator, calculator] = await Promise.all(['weather', 'translator', 'calculator'].map(startAgent));
  print(`A2A 1.0, official SDK      ${weather}`);
  print(`A2A 0.3, written by hand   ${translator}`);
  print(`a PocketAgent              ${calculator} (requires a token)`);

  heading('The official MCP client starts agent3, registers them, and searches, calls and rates');
  // imported here, so that the demo prints its first lines immediately
  const [{ Client }, { StdioClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/client'),
    import('@modelcontextprotocol/client/stdio'),
  ]);
  const client = new Client({ name: 'demo', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioClientTransport({ ...agent3, stderr: 'inherit' }));
  const call = async (name: string, args: Record<string, unknown>) => {
    const { structuredContent, isError, content } = await client.callTool({ name, arguments: args });
    if (isError) throw new Error(`${name}: ${JSON.stringify(content)}`);
    return structuredContent as Answer;
  };
  await call('agent3_register', { cardUrl: weather, tags: ['demo'], price: { perCall: 0.01 } });
  await call('agent3_register', { cardUrl: translator, tags: ['demo'] });
  await call('agent3_register', {
    cardUrl: calculator,
    tags: ['demo'],
    credentials: [{ type: 'bearer', token: TOKEN }],
  });
  const questions = [
    { query: 'weather forecast', message: 'What will the weather be in Oslo?' },
    { query: 'translate into german', message: 'Please translate "Good morning, world"' },
    { query: 'arithmetic', message: 'add 19 and 23' },
  ];
  for (const { query, message } of questions) {
    const [found] = (await call('agent3_search', { query })).agents ?? [];
    if (!found) throw new Error(`No agent was found for "${query}"`);
    const answer = await call('agent3_call', { agentId: found.id, message });
    const { reputation } = await call('agent3_feedback', {
      agentId: found.id,
      rating: 5,
      feedback: 'Correct and fast',
    });
    print(`search "${query}" → ${found.name}`);
    print(`  call     "${message}"`);
    print(`  answer   ${answer.result?.text.trim().replaceAll('\n', '\n           ')}`);
    const { responseTime, cost } = answer.metadata ?? {};
    print(
      `  took     ${responseTime} ms${cost === undefined ? '' : `, $${cost}`}; rated, reputation now ${reputation}`,
    );
  }
  await client.close();

  heading('A PocketAgent uses agent3 as an MCP server and does the same on its own');
  const { runPocketAgent } = await import('./pocket-agent.ts');
  for (const line of await runPocketAgent(agent3)) print(line);
  if (process.argv.includes('--pages')) {
    heading('The web pages of the hub, with these agents and calls');
    const hub = { AGENT3_ADMINS: 'you', AGENT3_PORT: '0' };
    print(await firstLine(startAgent3(['hub'], hub)));
    print(`Sign in with the token  ${await firstLine(startAgent3(['token', 'you'], hub))}`);
    print('Ctrl+C ends the demo');
    await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
  }
  heading('Done');
} finally {
  await Promise.all(children.map(stopped));
  await rm(folder, { recursive: true, force: true });
}

interface Answer {
  agents?: { id: string; name: string }[];
  result?: { text: string };
  metadata?: { responseTime: number; cost?: number };
  reputation?: number;
}

/** A command of agent3 on the database of the demo. */
function startAgent3(args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(agent3.command, [...agent3.args, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...agent3.env, ...env },
  });
  children.push(child);
  return child;
}

function firstLine({ stdout }: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!stdout) return reject(new Error('The process has no output'));
    createInterface(stdout)
      .once('line', resolve)
      .once('close', () => reject(new Error('The process ended')));
  });
}

function startAgent(name: string): Promise<string> {
  const file = fileURLToPath(new URL(`agents/${name}.ts`, import.meta.url));
  const child = spawn(process.execPath, ['-C', 'pocket-agent/source', file], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, DEMO_TOKEN: TOKEN },
  });
  children.push(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', () => reject(new Error(`The agent ${name} did not start`)));
    createInterface(child.stdout).once('line', resolve);
  });
}

/** An agent exits when its stdin is closed, agent3 with a signal. */
async function stopped(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.stdin?.end();
  if (child.spawnargs.includes('hub')) child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await ended;
}

function heading(text: string): void {
  process.stdout.write(`\n${text}\n${'─'.repeat(text.length)}\n`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
