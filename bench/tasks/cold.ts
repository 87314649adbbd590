// Starting from nothing: import, memory after it, and the command line.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Effort, Figures } from '../contender.ts';
import { peerFolder, peers, us } from '../contenders.ts';
import { pause } from '../in-turns.ts';
import { median } from '../timing.ts';

const imports: Record<string, string> = {
  'mcp-sdk': '@modelcontextprotocol/client',
  'pocket-agent': 'pocket-agent',
  ai: 'ai',
  'openai-agents': '@openai/agents',
  mastra: '@mastra/core/agent',
  langchain: 'langchain',
  voltagent: '@voltagent/core',
};
const here = fileURLToPath(new URL('..', import.meta.url));
const built = new URL('../../packages/pocket-agent/dist/', import.meta.url);
const command = fileURLToPath(new URL('cli/main.js', built));

/** The same with the bare client and no model: it starts the built-in server, lists its tools and calls one. */
const bareQuestion = `
  import { Client } from '@modelcontextprotocol/client';
  import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const args = ['${fileURLToPath(new URL('builtin-server/main.js', built))}'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  await client.listTools();
  const { isError } = await client.callTool({ name: 'calculate', arguments: { expression: '17% of 2380' } });
  if (isError) throw new Error('It could not calculate.');
  await client.close();`;

const questions: Record<string, string[]> = {
  'mcp-sdk': moduleOf(bareQuestion),
  [us]: [command, '--model', 'demo', 'What is 17% of 2380?'],
};

/**
 * The floor is node itself. All are started in turn, so that a busy moment of the machine hits all of them, and what is
 * loaded is the difference to the start of node just before.
 */
export async function cold(contender: string, { starts }: Effort): Promise<Figures> {
  const cwd = peers.includes(contender) ? peerFolder(contender) : here;
  const name = imports[contender];
  const program = `${name ? `await import('${name}');` : ''}process.stdout.write(String(process.memoryUsage().rss))`;
  const question = questions[contender];
  const rounds: Round[] = [];
  for (let count = 0; count < starts; count++) {
    await pause();
    rounds.push({
      bare: started(moduleOf(''), here),
      full: started(moduleOf(program), cwd),
      version: contender === us ? started([command, '--version'], here) : undefined,
      answer: question && started(question, here),
    });
  }
  const importMb = median(rounds.map(({ full }) => Number(full.output) / 1e6));
  if (!name) return { importMb, commandMs: median(rounds.map(({ bare }) => bare.milliseconds)) };
  return {
    importMs: median(rounds.map(({ full, bare }) => full.milliseconds - bare.milliseconds)),
    importMb,
    ...figureOf(
      'commandMs',
      rounds.map(({ version }) => version),
    ),
    ...figureOf(
      'answerMs',
      rounds.map(({ answer }) => answer),
    ),
  };
}

function figureOf(id: string, starts: readonly (Started | undefined)[]): Figures {
  const times = starts.flatMap((start) => start?.milliseconds ?? []);
  return times.length > 0 ? { [id]: median(times) } : {};
}

function moduleOf(program: string): string[] {
  return ['--input-type=module', '--eval', program];
}

interface Round {
  bare: Started;
  full: Started;
  version: Started | undefined;
  answer: Started | undefined;
}

interface Started {
  milliseconds: number;
  output: string;
}

function started(args: string[], cwd: string): Started {
  const begun = performance.now();
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  const milliseconds = performance.now() - begun;
  if (status !== 0) throw new Error(`${args.at(-1)} ended with ${status}: ${stderr.slice(0, 500)}`);
  return { milliseconds, output: stdout };
}
