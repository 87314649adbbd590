// Tries every behaviour with every framework, each pair in its own process, and writes docs/behaviour.md.
import { type ChildProcess, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isInstalled, packagesOf, peers, us } from '../contenders/contenders.ts';
import { installPeers } from '../measuring/install.ts';
import { readOptions } from '../options.ts';
import { behaviours } from './behaviours.ts';
import { type Outcome, page } from './page.ts';

/** On a busy machine, the process may get a tenth of a core. */
const LIMIT_MS = 120_000;
const AT_ONCE = 2;
const allSubjects = [us, ...peers];
/** Must pass all behaviours, too, but has no column in the table. */
const behindGateway = 'gateway';
const chosen = readOptions({
  usage: `npm run behaviour -- [--install] [--only NAMES]
  --install  first installs the other frameworks, each in its own folder
  --only     some of ${[...allSubjects, behindGateway].join(', ')};
             docs/behaviour.md is written only if all run`,
  switches: ['install'],
  choices: { only: [...allSubjects, behindGateway] },
});
if (chosen.isOn('install')) installPeers();

const chosenNames = chosen.names('only');
const subjects = chosenNames.filter((name) => name !== behindGateway);
const outcomes = new Map<string, Outcome>();
const waiting = Object.keys(behaviours).flatMap((id) => chosenNames.map((subject) => ({ subject, id })));
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const outcome = await outcomeOf(next.subject, next.id);
      outcomes.set(`${next.subject} ${next.id}`, outcome);
      console.log(`${outcome.verdict.padEnd(8)}${next.subject.padEnd(15)}${behaviours[next.id]?.title}`);
      if (outcome.reason) console.log(`        ${outcome.reason.split('\n', 1)[0]?.slice(0, 160)}`);
    }
  }),
);
// an incomplete page must not replace a complete one
const isComplete =
  subjects.length === allSubjects.length && [...outcomes.values()].every(({ verdict }) => verdict !== 'not run');
if (isComplete) {
  const versions = subjects.filter((name) => peers.includes(name)).flatMap(packagesOf);
  const file = fileURLToPath(new URL('../../docs/behaviour.md', import.meta.url));
  writeFileSync(file, page({ subjects, versions, outcome: (subject, id) => outcomes.get(`${subject} ${id}`) }));
  console.log('\nwritten: docs/behaviour.md');
} else if (subjects.length === allSubjects.length)
  console.log('\nnot written: docs/behaviour.md, because some did not run');
if ([...outcomes.values()].every(({ verdict }) => verdict === 'not run')) process.exitCode = 2;
for (const ours of chosenNames.filter((name) => name === us || name === behindGateway)) {
  const failed = Object.keys(behaviours).filter((id) => outcomes.get(`${ours} ${id}`)?.verdict !== 'yes');
  if (failed.length === 0) continue;
  console.error(`\n${ours} must have every behaviour, but lacks: ${failed.join(', ')}`);
  process.exitCode = 1;
}

async function outcomeOf(subject: string, id: string): Promise<Outcome> {
  const documented = behaviours[id]?.documented?.[subject];
  if (documented) return { verdict: `${documented}*`, reason: 'by its documentation' };
  if (peers.includes(subject) && !isInstalled(subject))
    return { verdict: 'not run', reason: 'not installed; use --install' };
  const child = fork(fileURLToPath(new URL('child.ts', import.meta.url)), [subject, id], {
    execArgv: process.execArgv,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  });
  try {
    return await outcomeFrom(child);
  } finally {
    endGroup(child);
  }
}

function outcomeFrom(child: ChildProcess): Promise<Outcome> {
  return new Promise((resolve) => {
    let errors = '';
    const onTimeout = () => resolve({ verdict: 'no', reason: `no result within ${LIMIT_MS / 1_000} s` });
    const timer = setTimeout(onTimeout, LIMIT_MS);
    child.stderr?.on('data', (chunk) => {
      errors = `${errors}${chunk}`.slice(-2_000);
    });
    child.once('message', (message) => {
      const { holds, reason } = message as { holds: boolean; reason: string };
      clearTimeout(timer);
      resolve({ verdict: holds ? 'yes' : 'no', reason });
    });
    child.once('close', () => {
      clearTimeout(timer);
      // a framework that cannot be loaded was not run; one that crashes has failed
      const reason = /\w*Error[^\n]+/.exec(errors)?.[0] ?? 'the process ended';
      const verdict = errors.includes('ERR_MODULE_NOT_FOUND') ? 'not run' : 'no';
      resolve({ verdict, reason });
    });
  });
}

/** Ends the process and everything it started. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // the group has already ended
  }
}
