// `npm run bench:runs`: what it costs to keep runs in PostgreSQL, beside the checkpoints of LangGraph and the steps of DBOS. All use
// one PostgreSQL on this machine, each a database of its own. Writes RESULTS.md beside it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '../../packages/store/test/postgres.ts';
import { showHelp } from '../../scripts/show-help.ts';
import { type RunFigures, STEPS } from './measure.ts';

const ROUNDS = 3;
const pathTo = (path: string) => fileURLToPath(import.meta.resolve(path));
const programs = {
  'Pocket Agent, PostgreSQL': pathTo('./pocket-agent.ts'),
  'LangGraph, PostgreSQL': pathTo('../peers/langgraph-postgres/program.ts'),
  'DBOS, PostgreSQL': pathTo('../peers/dbos/program.ts'),
  'Pocket Agent, SQLite': pathTo('./pocket-agent.ts'),
};
type Name = keyof typeof programs;
const names = Object.keys(programs) as Name[];
const units: Record<keyof RunFigures, string> = {
  stepMs: `a step, one run at a time, ms`,
  runsPerSecond: 'runs a second, 32 in flight ▲',
  processorMs: 'processor time of a run, 32 in flight, ms',
};

showHelp(`npm run bench:runs      what it costs to keep runs in a database, beside LangGraph and DBOS; writes bench/runs/RESULTS.md.
                        Needs PostgreSQL; -- --install installs the other two
`);
if (process.argv.includes('--install')) {
  for (const peer of ['langgraph-postgres', 'dbos'])
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: pathTo(`../peers/${peer}`),
      stdio: 'inherit',
    });
}

function measured(name: Name, url: string): RunFigures {
  const args = ['-C', 'pocket-agent/source', programs[name], url];
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const line = output.trim().split('\n').at(-1) ?? '';
  return JSON.parse(line) as RunFigures;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function report(rounds: readonly Record<Name, RunFigures>[], load: number): string {
  const figure = (name: Name, key: keyof RunFigures) => median(rounds.map((round) => round[name][key]));
  const rows = (Object.entries(units) as [keyof RunFigures, string][]).map(([key, unit]) => {
    const [own = 0, ...peers] = names.slice(0, 3).map((name) => figure(name, key));
    const isMet = peers.every((peer) => (key === 'runsPerSecond' ? own > peer : own < peer));
    const cells = names.map((name) => figure(name, key).toFixed(1));
    return ['', unit, ...cells, isMet ? 'met' : '**missed**', ''].join(' | ').trim();
  });
  return `# What durable runs cost

\`npm run bench:runs\` writes this page: medians of ${rounds.length} rounds. The load of the machine was ${load.toFixed(1)} per core before the
run${load > 0.5 ? ', so the times are too long, and only their ratios say something' : ''}. PostgreSQL runs on the same machine, without \`fsync\`.

A run has ${STEPS} steps: a model that answers at once calls a tool that returns at once. After them it answers. In all three, an answer of
the model is saved before its call is made, and a result of a tool before the model is asked again.

| | ${names.join(' | ')} | on PostgreSQL ahead of both |
|---|${names.map(() => '---|').join('')}---|
${rows.join('\n')}

- *Pocket Agent* also saves an intent before each call, because the tool is neither read-only nor idempotent: after a crash the call is not
  made again. LangGraph and DBOS would make it again. Runs go through the queue of pg-boss, so that any process may take them over.
- *LangGraph* saves a checkpoint of the whole state after each node (\`durability: 'sync'\`). The program has to find runs that were
  interrupted, and to call the graph again.
- *DBOS* starts workflows in the process that asked. Without its Conductor, only a process of the same executor id continues them.
`;
}

const folder = mkdtempSync(join(tmpdir(), 'pocket-agent-bench-'));
const postgres = await startPostgres();
try {
  const [load = 0] = loadavg();
  const rounds: Record<Name, RunFigures>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const figures: Partial<Record<Name, RunFigures>> = {};
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const isFile = name.endsWith('SQLite');
      const url = isFile ? `sqlite:${join(folder, `${round}.db`)}` : await postgres.createDatabase();
      figures[name] = measured(name, url);
    }
    rounds.push(figures as Record<Name, RunFigures>);
    console.error(JSON.stringify(figures));
  }
  const page = report(rounds, load / availableParallelism());
  writeFileSync(pathTo('./RESULTS.md'), page);
  console.log(page);
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
