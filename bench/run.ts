// Measures everybody at every work, prints it, and keeps what a whole run has found.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chart } from './chart.ts';
import type { Effort } from './contender.ts';
import { everybody, isInstalled, loopPeers, us } from './contenders.ts';
import { type Figure, figures } from './figures.ts';
import { measureInTurns } from './in-turns.ts';
import { installPeers } from './install.ts';
import { readOptions } from './options.ts';
import { orderOf } from './order.ts';
import { report } from './report.ts';
import { Results } from './results.ts';
import { stolenSince } from './stolen.ts';
import { table } from './table.ts';
import { ROUNDS, works } from './works.ts';

const allWorks = Object.keys(works);
const chosen = readOptions({
  usage: `npm run bench -- [--quick] [--install] [--work NAMES] [--only NAMES]
  --quick    two minutes, to look at, of code that is hardly warm; where no work is named, of peers only loop, cold
             and installed; a whole run takes an hour, judges the targets and writes bench/RESULTS.md
  --install  installs the peers first, in folders of their own; a whole run does so by itself
  --work     some of ${allWorks.join(', ')}
  --only     some of ${everybody.join(', ')}`,
  switches: ['quick', 'install'],
  choices: { work: allWorks, only: everybody },
});
const isQuick = chosen.isOn('quick');
const isOfAll = chosen.names('only').length === everybody.length && chosen.names('work').length === allWorks.length;
const lacksPeers = !chosen.names('only').every(isInstalled);
if (chosen.isOn('install') || (isOfAll && !isQuick && lacksPeers)) installPeers();

// a quick run of everything leaves most of what takes long to whole ones
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
  console.log(`${name} is not installed, and left out; with --install it is installed first`);
  return false;
});
const isAnyMeasured = chosen.names('work').some((work) => names.some((name) => works[work]?.contenders.includes(name)));
if (!isAnyMeasured) {
  console.error('Nobody of those does any of these works.');
  process.exit(2);
}
const begun = performance.now();
const stolen = stolenSince();
for (let round = 0; round < rounds; round++) {
  for (const work of chosen.names('work')) {
    if (round >= roundsOf(work)) continue;
    const isTooLong = isQuickWhole && !quickWithPeers.includes(work);
    // rounds beyond those of most are for what is judged
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
// quick figures are to look at; those of a whole run are kept
if (isOfAll && !isQuick) {
  writeFileSync(`${here}RESULTS.md`, report(results, { effort, minutes, stolen: stolen() }));
  writeFileSync(`${here}results.svg`, chart(results));
  console.log('\nwritten: bench/RESULTS.md, bench/results.svg');
}
if (isQuick)
  console.log('\nA quick run judges no target: `npm run bench` judges all, `npm run bench -- --work NAMES` some.');
if (results.hasFailures) process.exitCode = 1;
