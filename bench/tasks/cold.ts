// Starting from nothing: import, memory after it, what is installed, and the command line.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Effort, Figures } from '../contender.ts';
import { peerFolder, peers, us } from '../contenders.ts';
import { installed } from '../installed.ts';
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
const command = fileURLToPath(new URL('../../packages/pocket-agent/dist/cli/main.js', import.meta.url));

/** The floor is node itself. */
export async function cold(contender: string, { starts }: Effort): Promise<Figures> {
  const runs = (args: string[], cwd: string) => started({ args, cwd, starts });
  const cwd = peers.includes(contender) ? peerFolder(contender) : here;
  const name = imports[contender];
  const program = `${name ? `await import('${name}');` : ''}process.stdout.write(String(process.memoryUsage().rss))`;
  const [bare, full] = [runs(moduleOf(''), here), runs(moduleOf(program), cwd)];
  if (!name) return { importMb: full.number / 1e6, commandMs: bare.milliseconds };
  return {
    importMs: full.milliseconds - bare.milliseconds,
    importMb: full.number / 1e6,
    ...installed(contender),
    ...(contender === us
      ? {
          commandMs: runs([command, '--version'], here).milliseconds,
          answerMs: runs([command, '--model', 'demo', 'What is 17% of 2380?'], here).milliseconds,
        }
      : {}),
  };
}

function moduleOf(program: string): string[] {
  return ['--input-type=module', '--eval', program];
}

interface Start {
  args: string[];
  cwd: string;
  starts: number;
}

function started({ args, cwd, starts }: Start): { milliseconds: number; number: number } {
  const times: number[] = [];
  let output = '';
  for (let time = 0; time < starts; time++) {
    const begun = performance.now();
    const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
    times.push(performance.now() - begun);
    if (status !== 0) throw new Error(`${args.at(-1)} ended with ${status}: ${stderr.slice(0, 500)}`);
    output = stdout;
  }
  return { milliseconds: median(times), number: Number.parseInt(output, 10) };
}
