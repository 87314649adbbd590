// Measures everybody at every work, prints it, and keeps what a whole run has found.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chart } from './chart.ts';
import type { Effort } from './contender.ts';
import { everybody, isInstalled, peers, us } from './contenders.ts';
import { figures, targetText } from './figures.ts';
import { measureInTurns } from './in-turns.ts';
import { installPeers } from './install.ts';
import { readOptions } from './options.ts';
import { cell, report, verdictText } from './report.ts';
import { Results } from './results.ts';
import { works } from './works.ts';

const allWorks = Object.keys(works);
const chosen = readOptions({
  usage: `npm run bench -- [--quick] [--install] [--work NAMES] [--only NAMES]
  --quick    two minutes, to look at; a whole run takes most of an hour and writes bench/RESULTS.md
  --install  installs the peers first, in folders of their own
  --work     some of ${allWorks.join(', ')}
  --only     some of ${everybody.join(', ')}`,
  switches: ['quick', 'install'],
  choices: { work: allWorks, only: everybody },
});
const isQuick = chosen.isOn('quick');
if (chosen.isOn('install')) installPeers();

const effort: Effort = isQuick
  ? { warmMs: 50, measureMs: 50, moments: 1, agents: 50, registered: 2_000, starts: 1 }
  : { warmMs: 1_500, measureMs: 700, moments: 7, agents: 1_000, registered: 100_000, starts: 5 };
// what takes long, or varies little, is done once
const once = ['search', 'installed', 'idle', 'idleMcp'];
const repeats = isQuick ? 1 : 5;

const results = new Results();
const names = chosen.names('only').filter((name) => {
  if (!peers.includes(name) || isInstalled(name)) return true;
  results.notes.push(`${name} is not installed: \`npm run bench -- --install\``);
  return false;
});
const begun = performance.now();
for (let repeat = 0; repeat < repeats; repeat++) {
  for (const work of chosen.names('work')) {
    if (repeat > 0 && once.includes(work)) continue;
    const doing = names.filter((name) => works[work]?.contenders.includes(name));
    // nobody is always first
    const order = [...doing.slice(repeat % doing.length), ...doing.slice(0, repeat % doing.length)];
    process.stderr.write(`\r\u001b[K${repeat + 1} of ${repeats}: ${work}`);
    for (const { name, figures: measured, failure } of await measureInTurns(work, order, effort)) {
      if (measured) results.add({ name, round: repeat, measured });
      else results.notes.push(`${name}, ${work}, round ${repeat + 1}: ${failure}`);
    }
  }
}
process.stderr.write('\r\u001b[K');

for (const figure of figures) {
  if (results.value(us, figure.id) === undefined) continue;
  console.log(`(${figure.item}) ${figure.title}${figure.unit ? `, ${figure.unit}` : ''}`);
  for (const name of names)
    if (cell(results, name, figure.id)) console.log(`    ${name.padEnd(14)} ${cell(results, name, figure.id)}`);
  const verdict = verdictText(results, figure);
  if (verdict) console.log(`    target ${targetText(figure)}: ${verdict}`);
}
for (const note of results.notes) console.log(note);

const minutes = (performance.now() - begun) / 60_000;
const here = fileURLToPath(new URL('.', import.meta.url));
// quick figures are to look at; those of a whole run are kept
const isWhole = !isQuick && names.length === everybody.length && chosen.names('work').length === allWorks.length;
if (isWhole) {
  writeFileSync(`${here}RESULTS.md`, report(results, { effort, minutes, repeats }));
  writeFileSync(`${here}results.svg`, chart(results));
  console.log('\nwritten: bench/RESULTS.md, bench/results.svg');
}
