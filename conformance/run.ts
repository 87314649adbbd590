// Runs the official MCP conformance suite against our client and our servers, for both revisions of the protocol.
import { spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { showHelp } from '../scripts/show-help.ts';
import { startGateway } from './gateway.ts';
import { startMattermostServer } from './mattermost.ts';
import { startServer } from './server.ts';
import { judgeWithoutFixtures } from './without-fixtures.ts';

interface Outcome {
  exitCode: number;
  output: string;
}

showHelp(`npm run conformance   runs the official MCP conformance suite against our client and servers, for both revisions of
                      the protocol; the details are in results/conformance
`);
const SCENARIO_TIMEOUT_MS = 120_000;
const RUN_TIMEOUT_MS = 240_000;
const KEPT_LINES = 40;
const revisions = ['2025-11-25', '2026-07-28'];
const suite = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));
const client = fileURLToPath(import.meta.resolve('./client.ts'));
const results = fileURLToPath(import.meta.resolve('../results/conformance'));

/** Runs the suite in its own process group, so that the clients it starts end with it. */
async function runSuite(args: string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [suite, ...args], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const endGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch (error) {
      // ESRCH: the group has ended already
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  };
  process.once('exit', endGroup);
  const timer = setTimeout(endGroup, RUN_TIMEOUT_MS);
  let output = '';
  const collect = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  try {
    return await new Promise<Outcome>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode) => resolve({ exitCode: exitCode ?? 1, output }));
    });
  } finally {
    clearTimeout(timer);
    endGroup();
    process.off('exit', endGroup);
  }
}

/** Prints a summary of a run. Returns whether all required scenarios passed. */
async function report(role: string, revision: string, { exitCode, output }: Outcome): Promise<boolean> {
  const [scenarios = '', extras = ''] = output.split(/^Not scored for .*$/m);
  const optional = new Set([...extras.matchAll(/^ +[✓✗] (\S+) \(/gm)].map(([, name]) => name));
  const lines = [...scenarios.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm)];
  const required = lines.filter(([, , name]) => !optional.has(name));
  const passed = required.filter(([, mark]) => mark === '✓');
  const checks = required.reduce((sum, [, , , count]) => sum + Number(count), 0);
  const ok = exitCode === 0 && required.length > 0 && passed.length === required.length;
  const failedExtras = lines.filter(([, mark, name]) => mark === '✗' && optional.has(name)).length;
  console.log(
    `${ok ? '✓' : '✗'} ${role} ${revision}: exit ${exitCode}, ${passed.length} of ${required.length} required scenarios, ` +
      `${checks} checks; optional: ${optional.size - failedExtras} of ${optional.size}`,
  );
  await writeFile(join(results, `${role}-${revision}.txt`), output);
  if (ok) return true;
  for (const [line, mark] of required) if (mark === '✗') console.log(`    ${line}`);
  if (required.length === 0) console.log(output.split('\n').slice(-KEPT_LINES).join('\n'));
  return false;
}

/** Like `report`, for a server without fixtures, where the suite's own count is useless. */
async function reportWithoutFixtures(role: string, revision: string, { output }: Outcome): Promise<boolean> {
  await writeFile(join(results, `${role}-${revision}.txt`), output);
  const { scenarios, passed, failures } = await judgeWithoutFixtures(join(results, `${role}-${revision}`));
  const isOk = scenarios > 0 && failures.length === 0;
  console.log(
    `${isOk ? '✓' : '✗'} ${role} ${revision}: ${scenarios} scenarios without fixtures, ${passed} checks, ${failures.length} failed`,
  );
  for (const failure of failures) console.log(`    ${failure}`);
  if (scenarios === 0) console.log(output.split('\n').slice(-KEPT_LINES).join('\n'));
  return isOk;
}

async function main(): Promise<boolean> {
  await rm(results, { recursive: true, force: true });
  await mkdir(results, { recursive: true });
  await using servers = new AsyncDisposableStack();
  const server = servers.adopt(await startServer(), (started) => started.close());
  const gateway = servers.adopt(await startGateway(), (started) => started.close());
  const mattermost = servers.adopt(await startMattermostServer(), (started) => started.close());
  const command = `"${process.execPath}" -C pocket-agent/source "${client}"`;
  const targets = [
    { name: 'client', args: ['client', '--command', command], report },
    { name: 'server', args: ['server', '--url', server.url], report },
    { name: 'gateway', args: ['server', '--url', gateway.url], report },
    { name: 'mattermost', args: ['server', '--url', mattermost.url], report: reportWithoutFixtures },
  ];
  let allOk = true;
  for (const { name, args, report: reportTarget } of targets) {
    for (const revision of revisions) {
      const timeout = String(SCENARIO_TIMEOUT_MS);
      const runOnce = async (target: string) => {
        const folder = join(results, `${target}-${revision}`);
        const outcome = await runSuite([...args, '--requirements', revision, '--timeout', timeout, '-o', folder]);
        return await reportTarget(target, revision, outcome);
      };
      // a busy machine misses some timeouts of the suite, so only a second failure counts
      const isOk = (await runOnce(name)) || (await runOnce(`${name}-again`));
      allOk &&= isOk;
    }
  }
  if (!allOk) console.log(`Details are in ${results}`);
  return allOk;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.exitCode = (await main()) ? 0 : 1;
