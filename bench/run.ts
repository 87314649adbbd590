// Measures contenders, prints the results, and writes RESULTS.md when every workload was measured with all of them.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Effort } from './contenders/contender.ts';
import { allContenders, isInstalled, loopPeers, us } from './contenders/contenders.ts';
import { installPeers } from './measuring/install.ts';
import { orderOf } from './measuring/order.ts';
import { measureInTurns } from './measuring/rounds.ts';
import { stolenSince } from './measuring/steal-time.ts';
import { readOptions } from './options.ts';
import { chart } from './report/chart.ts';
import { type Figure, figures } from './report/figures.ts';
import { type MeasuredInRound, type Measurement, Measurements } from './report/measurements.ts';
import { commit, conditionsOf, report } from './report/report.ts';
import { Results } from './report/results.ts';
import { table } from './report/table.ts';
import { ROUNDS, workloads } from './tasks/tasks.ts';

const allWorkloads = Object.keys(workloads);
const chosen = readOptions({
  usage: `npm run bench -- [--quick] [--install] [--work NAMES] [--only NAMES]
  --quick    a first impression in two minutes, with little warm-up; without --work, peers are measured only in loop,
             cold and installed. A full run takes 50 minutes, checks the targets and writes bench/RESULTS.md. It may be
             made in parts: figures of all contenders with --work are kept in bench/measurements.json
  --install  first installs the peers, each in its own folder; a full run does so by itself
  --work     some of ${allWorkloads.join(', ')}
  --only     some of ${allContenders.join(', ')}`,
  switches: ['quick', 'install'],
  choices: { work: allWorkloads, only: allContenders },
});
const isQuick = chosen.isOn('quick');
const isFull =
  chosen.names('only').length === allContenders.length && chosen.names('work').length === allWorkloads.length;
const isPeerMissing = !chosen.names('only').every(isInstalled);
if (chosen.isOn('install') || (isFull && !isQuick && isPeerMissing)) installPeers();

// a quick run leaves most slow measurements to full runs
const isQuickWithAll = isQuick && chosen.names('work').length === allWorkloads.length;
const quickWithPeers = ['loop', 'cold', 'installed'];
const effort: Effort = isQuick
  ? { warmMs: 50, measureMs: 50, moments: 1, agents: 50, registered: 2_000, starts: 1 }
  : { warmMs: 1_500, measureMs: 700, moments: 7, agents: 1_000, registered: 100_000, starts: 5 };

const results = new Results();
const names = chosen.names('only').filter((name) => {
  if (isInstalled(name)) return true;
  console.log(`${name} is not installed and is left out. --install installs it.`);
  return false;
});
const isAnyMeasured = chosen
  .names('work')
  .some((work) => names.some((name) => workloads[work]?.contenders.includes(name)));
if (!isAnyMeasured) {
  console.error('None of these contenders takes part in the chosen workloads.');
  process.exit(2);
}
const here = fileURLToPath(new URL('.', import.meta.url));
const isKept = !isQuick && names.length === allContenders.length;
const measurements = isKept ? new Measurements(`${here}measurements.json`, conditionsOf(effort)) : undefined;
const begun = performance.now();
for (const work of chosen.names('work')) {
  const measurement = await measure(work);
  for (const measured of measurement.measured) results.add(work, measured);
  measurements?.add(work, measurement);
}
process.stderr.write('\r\u001b[K');

const shown = figures.filter(({ work, id }) => {
  const isLeftOut = isQuick && names.every((name) => results.value(name, id) === undefined);
  return chosen.names('work').includes(work) && !isLeftOut;
});
const isJudged = ({ base, target }: Figure) => {
  const beside = [us, base, ...(target?.ofPeers === undefined ? [] : loopPeers)];
  return !isQuick && beside.every((name) => names.includes(name));
};
console.log(table(results, { names, figures: shown, isJudged }));
for (const note of results.notes) console.log(note);

console.log(`\n${minutesSince(begun).toFixed(1)} minutes`);
if (measurements?.missing.length === 0) {
  writeFileSync(`${here}RESULTS.md`, report(measurements, effort));
  writeFileSync(`${here}results.svg`, chart(Results.of(measurements)));
  console.log('\nwritten: bench/RESULTS.md, bench/results.svg');
} else if (measurements) {
  console.log(
    `\nwritten: bench/measurements.json. For RESULTS.md also measure: --work ${measurements.missing.join(',')}`,
  );
}
if (isQuick)
  console.log('\nA quick run checks no targets. `npm run bench` checks all, `npm run bench -- --work NAMES` some.');
if (results.hasFailures) process.exitCode = 1;

async function measure(work: string): Promise<Measurement> {
  const start = performance.now();
  const stolen = stolenSince();
  const isTooLong = isQuickWithAll && !quickWithPeers.includes(work);
  const measured: MeasuredInRound[] = [];
  const { rounds: fullRounds = ROUNDS, peerRounds = ROUNDS } = workloads[work] ?? {};
  const rounds = isQuick ? 1 : fullRounds;
  for (let round = 0; round < rounds; round++) {
    // later rounds are only for contenders whose targets are judged
    const withPeers = !isTooLong && round < peerRounds;
    const doing = names.filter(
      (name) => workloads[work]?.contenders.includes(name) && (withPeers || !loopPeers.includes(name)),
    );
    process.stderr.write(`\r\u001b[K${work}: ${round + 1} of ${rounds}`);
    const ofRound = await measureInTurns({ work, names: orderOf(doing, round), effort });
    measured.push(...ofRound.map((each) => ({ round, ...each })));
  }
  return { commit: commit(), minutes: minutesSince(start), stolen: stolen(), measured };
}

function minutesSince(start: number): number {
  return (performance.now() - start) / 60_000;
}
