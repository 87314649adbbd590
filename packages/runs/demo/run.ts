// npm run runs:demo: a process is killed in the middle of a run, and the next one continues it. Needs no API key.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { showHelp } from '../../../scripts/show-help.ts';
import { openRuns } from '../src/index.ts';

showHelp(
  'npm run runs:demo   a process is killed in the middle of a run, and the next one continues it; needs no API key\n',
);
const worker = fileURLToPath(new URL('worker.ts', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'runs-demo-'));
const file = join(folder, 'runs.db');
const invoices = join(folder, 'invoices');
const print = (line: string) => void process.stdout.write(`${line}\n`);

/** Starts a worker, and waits until it has ended. `dies`: it kills itself right after it has paid. */
async function work(dies: boolean): Promise<void> {
  const args = ['-C', 'pocket-agent/source', worker, JSON.stringify({ file, invoices, dies })];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code, signal] = await once(child, 'exit');
  if (signal !== (dies ? 'SIGKILL' : null) || (!dies && code !== 0))
    throw new Error(`A worker ended with ${code ?? signal}.`);
}

try {
  const runs = await openRuns({ url: `sqlite:${file}` });
  await runs.start('payments', 'Pay the invoices 1, 2 and 3', { id: 'invoices', caller: 'Ann' });
  print('1. The run is started. A worker pays invoice 1, and is killed by SIGKILL while it pays invoice 2.');
  await work(true);
  print(`   paid: ${await paid()}; the run is ${(await runs.get('invoices'))?.status}`);
  print(
    '2. The next worker continues. It reads that the outcome of invoice 2 is unknown, checks, and does not pay it twice.',
  );
  print('   Invoice 3 is large and needs an approval, so the worker ends while the run waits.');
  await work(false);
  const [question] = await runs.questions();
  print(`   paid: ${await paid()}; the run is ${(await runs.get('invoices'))?.status}`);
  print(`3. A person answers. Question: ${question?.call?.tool} ${JSON.stringify(question?.call?.arguments)}`);
  await runs.answer(question?.id ?? '', 'allow', { by: 'Bob' });
  await work(false);
  print(`   paid: ${await paid()}; answer: ${await runs.result('invoices')}`);
  print('4. The journal:');
  for await (const { number, type, data } of runs.events('invoices'))
    print(`   ${String(number).padStart(2)} ${type.padEnd(9)} ${JSON.stringify(data).slice(0, 110)}`);
  await runs.close();
} finally {
  await rm(folder, { recursive: true });
}

async function paid(): Promise<string> {
  return (await readFile(invoices, 'utf8')).trim().split('\n').join(', ');
}
