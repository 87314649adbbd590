// `npm run bench:runs`: the cost of keeping runs in PostgreSQL, compared with checkpoints of LangGraph and steps of DBOS. Each
// has its own database on the same PostgreSQL of this machine. Writes RESULTS.md.
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

showHelp(`npm run bench:runs      measures what it costs to keep runs in a database, compared with LangGraph and DBOS, and writes
                        bench/runs/RESULTS.md. Needs PostgreSQL. -- --install installs the other two
`);
if (process.argv.includes('--install')) {
  for (const peer of ['langgraph-postgres', 'dbos'])
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: pathTo(`../peers/${peer}`),
      stdio: 'inherit',
    });
}

function measured(name: Name, url: string): RunFigures {
  return figuresOf(programs[name], url) as RunFigures;
}

function figuresOf(program: string, url: string): unknown {
  const args = ['-C', 'pocket-agent/source', program, url];
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const line = output.trim().split('\n').at(-1) ?? '';
  return JSON.parse(line);
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

interface Report {
  rounds: readonly Record<Name, RunFigures>[];
  /** Milliseconds for one row of the journal on SQLite, by the round. */
  rowTimes: readonly number[];
  /** Of the machine, per core. */
  load: number;
}

function report({ rounds, rowTimes, load }: Report): string {
  const rowMs = median(rowTimes);
  const figure = (name: Name, key: keyof RunFigures) => median(rounds.map((round) => round[name][key]));
  const rows = (Object.entries(units) as [keyof RunFigures, string][]).map(([key, unit]) => {
    const [ours = 0, ...peers] = names.slice(0, 3).map((name) => figure(name, key));
    const isMet = peers.every((peer) => (key === 'runsPerSecond' ? ours > peer : ours < peer));
    const cells = names.map((name) => figure(name, key).toFixed(1));
    return ['', unit, ...cells, isMet ? 'met' : '**missed**', ''].join(' | ').trim();
  });
  return `# What durable runs cost

\`npm run bench:runs\` writes this page: medians of ${rounds.length} rounds. Before the run the load was ${load.toFixed(1)} per core${load > 0.5 ? ': the times are too long, and only their ratios are meaningful' : ''}. PostgreSQL runs on the same machine, without \`fsync\`.

A run has ${STEPS} steps, in which a model that answers at once calls a tool that returns at once, and then an answer. All three save each
answer of the model before its tool call is made, and each tool result. LangGraph and DBOS wait for that before the model is asked
again; Pocket Agent asks it at the same time, which loses nothing more in a crash, and waits before the next call. As this model
answers at once, the result and the next answer are one write.

| | ${names.join(' | ')} | ahead of both on PostgreSQL |
|---|${names.map(() => '---|').join('')}---|
${rows.join('\n')}

One row of the journal on SQLite takes ${rowMs.toFixed(2)} ms (median; target below 1 ms: ${rowMs < 1 ? 'met' : '**missed**'}).

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
  const rowTimes: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const figures: Partial<Record<Name, RunFigures>> = {};
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const isFile = name.endsWith('SQLite');
      const url = isFile ? `sqlite:${join(folder, `${round}.db`)}` : await postgres.createDatabase();
      figures[name] = measured(name, url);
    }
    rounds.push(figures as Record<Name, RunFigures>);
    const { rowMs } = figuresOf(pathTo('./journal.ts'), join(folder, `rows-${round}.db`)) as { rowMs: number };
    rowTimes.push(rowMs);
    console.error(JSON.stringify(figures));
  }
  const page = report({ rounds, rowTimes, load: load / availableParallelism() });
  writeFileSync(pathTo('./RESULTS.md'), page);
  console.log(page);
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
