// Measures all contenders, prints the results, and writes RESULTS.md after a full run.
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
import { report } from './report/report.ts';
import { Results } from './report/results.ts';
import { table } from './report/table.ts';
import { ROUNDS, works } from './tasks/tasks.ts';

const allWorks = Object.keys(works);
const chosen = readOptions({
  usage: `npm run bench -- [--quick] [--install] [--work NAMES] [--only NAMES]
  --quick    a first impression in two minutes, with little warm-up; without --work, peers are measured only in loop,
             cold and installed. A full run takes 80 minutes, checks the targets and writes bench/RESULTS.md
  --install  first installs the peers, each in its own folder; a full run does so by itself
  --work     some of ${allWorks.join(', ')}
  --only     some of ${allContenders.join(', ')}`,
  switches: ['quick', 'install'],
  choices: { work: allWorks, only: allContenders },
});
const isQuick = chosen.isOn('quick');
const isOfAll = chosen.names('only').length === allContenders.length && chosen.names('work').length === allWorks.length;
const lacksPeers = !chosen.names('only').every(isInstalled);
if (chosen.isOn('install') || (isOfAll && !isQuick && lacksPeers)) installPeers();

// a quick run leaves most slow measurements to full runs
const isQuickWhole = isQuick && chosen.names('work').length === allWorks.length;
const quickWithPeers = ['loop', 'cold', 'installed'];
const effort: Effort = isQuick
  ? { warmMs: 50, measureMs: 50, moments: 1, agents: 50, registered: 2_000, starts: 1 }
  : { warmMs: 1_500, measureMs: 700, moments: 7, agents: 1_000, registered: 100_000, starts: 5 };
const roundsOf = (work: string) => (isQuick ? 1 : (works[work]?.rounds ?? ROUNDS));
const rounds = Math.max(...chosen.names('work').map(roundsOf));

const results = new Results();
const names = chosen.names('only').filter((name) => {
  if (isInstalled(name)) return true;
  console.log(`${name} is not installed and is left out; use --install`);
  return false;
});
const isAnyMeasured = chosen.names('work').some((work) => names.some((name) => works[work]?.contenders.includes(name)));
if (!isAnyMeasured) {
  console.error('None of these contenders takes part in the chosen work.');
  process.exit(2);
}
const begun = performance.now();
const stolen = stolenSince();
for (let round = 0; round < rounds; round++) {
  for (const work of chosen.names('work')) {
    if (round >= roundsOf(work)) continue;
    const isTooLong = isQuickWhole && !quickWithPeers.includes(work);
    // additional rounds are only for contenders that are judged
    const withPeers = !isTooLong && round < ROUNDS;
    const doing = names.filter(
      (name) => works[work]?.contenders.includes(name) && (withPeers || !loopPeers.includes(name)),
    );
    process.stderr.write(`\r\u001b[K${round + 1} of ${rounds}: ${work}`);
    for (const measured of await measureInTurns({ work, names: orderOf(doing, round), effort })) {
      const { name, figures: values, revision, failure = '' } = measured;
      if (values) results.add({ name, round, measured: values });
      else results.addFailure({ name, round, work, failure });
      if (revision) results.revisions.set(name, revision);
    }
  }
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

const minutes = (performance.now() - begun) / 60_000;
console.log(`\n${minutes.toFixed(1)} minutes`);
const here = fileURLToPath(new URL('.', import.meta.url));
// only the figures of a full run are written
if (isOfAll && !isQuick) {
  writeFileSync(`${here}RESULTS.md`, report(results, { effort, minutes, stolen: stolen() }));
  writeFileSync(`${here}results.svg`, chart(results));
  console.log('\nwritten: bench/RESULTS.md, bench/results.svg');
}
if (isQuick)
  console.log('\nA quick run checks no targets. `npm run bench` checks all, `npm run bench -- --work NAMES` some.');
if (results.hasFailures) process.exitCode = 1;
