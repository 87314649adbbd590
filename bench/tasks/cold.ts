// Cold starts: import, first answer, memory after each, and the command line.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Effort, Figures } from '../contenders/contender.ts';
import { floor, peerFolder, peers, sdk, us } from '../contenders/contenders.ts';
import { median } from '../measuring/timing.ts';
import { waitForTurn } from '../measuring/turn.ts';

const imports: Record<string, string> = {
  [sdk]: '@modelcontextprotocol/client',
  [us]: 'pocket-agent',
  ai: 'ai',
  'openai-agents': '@openai/agents',
  mastra: '@mastra/core/agent',
  langchain: 'langchain',
  voltagent: '@voltagent/core',
};
const here = fileURLToPath(new URL('../', import.meta.url));
const firstAnswer = fileURLToPath(new URL('../measuring/first-answer.ts', import.meta.url));
const built = new URL('../../packages/cli/dist/', import.meta.url);
const command = fileURLToPath(new URL('main.js', built));

/**
 * The floor: the bare client without a model starts the included server, lists its tools and calls one. It speaks 2025,
 * because the SDK starts a second server to detect the era.
 */
const bareQuestion = `
  import { Client } from '@modelcontextprotocol/client';
  import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
  const client = new Client({ name: 'bench', version: '1' });
  const args = ['${fileURLToPath(new URL('builtin-server/main.js', built))}'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  await client.listTools();
  const { isError } = await client.callTool({ name: 'calculate', arguments: { expression: '17% of 2380' } });
  if (isError) throw new Error('The calculation failed.');
  await client.close();`;

const questions: Record<string, string[]> = {
  [sdk]: moduleOf(bareQuestion),
  [us]: [command, '--model', 'demo', 'What is 17% of 2380?'],
};

/** Alternates between the programs, so that a busy moment affects all of them. */
export async function cold(contender: string, { starts }: Effort): Promise<Figures> {
  const rounds: Figures[] = [];
  for (let count = 0; count < starts; count++) {
    await waitForTurn();
    const bare = runNode(moduleOf(''));
    rounds.push({
      ...importFigures(contender, bare),
      ...firstAnswerFigures(contender),
      ...commandFigures(contender, bare),
    });
  }
  const ids = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(ids.map((id) => [id, median(rounds.map((round) => round[id] ?? Number.NaN))]));
}

/** Relative to a start of bare node just before. The floor is node itself. */
function importFigures(contender: string, bare: NodeRun): Figures {
  const name = imports[contender];
  const program = `${name ? `await import('${name}');` : ''}process.stdout.write(String(process.memoryUsage().rss))`;
  const full = runNode(moduleOf(program), peers.includes(contender) ? peerFolder(contender) : here);
  const importMb = Number(full.output) / 1e6;
  return name ? { importMs: full.milliseconds - bare.milliseconds, importMb } : { importMb };
}

/** Relative to the start of an empty TypeScript program. */
function firstAnswerFigures(contender: string): Figures {
  if (contender === sdk) return {}; // the SDK has no loop
  const bare = runNode([firstAnswer]);
  const { milliseconds, output } = runNode([firstAnswer, contender]);
  return { firstAnswerMs: milliseconds - bare.milliseconds, firstAnswerMb: Number(output) / 1e6 };
}

function commandFigures(contender: string, bare: NodeRun): Figures {
  const question = questions[contender];
  return {
    ...(contender === floor ? { commandMs: bare.milliseconds } : {}),
    ...(contender === us ? { commandMs: runNode([command, '--version']).milliseconds } : {}),
    ...(question ? { answerMs: runNode(question).milliseconds } : {}),
  };
}

function moduleOf(program: string): string[] {
  return ['--input-type=module', '--eval', program];
}

interface NodeRun {
  milliseconds: number;
  output: string;
}

function runNode(args: string[], cwd = here): NodeRun {
  const begun = performance.now();
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  const milliseconds = performance.now() - begun;
  if (status !== 0) throw new Error(`${args.at(-1)} ended with ${status}: ${stderr.slice(0, 500)}`);
  return { milliseconds, output: stdout };
}
