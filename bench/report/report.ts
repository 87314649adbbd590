// Writes RESULTS.md.
import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import type { Effort } from '../contenders/contender.ts';
import { allContenders, floor, isInstalled, loopPeers, us } from '../contenders/contenders.ts';
import { median, WARM_RUNS } from '../measuring/timing.ts';
import { ROUNDS, type Workload, workloads } from '../tasks/tasks.ts';
import { WARM_CALLS } from '../tasks/wire.ts';
import { type Figure, figures, meets, moreMark, targetText, titleOf } from './figures.ts';
import type { Conditions, Measurements } from './measurements.ts';
import { Results, spreadOf } from './results.ts';
import { contendersTable, versionsOf } from './versions.ts';

const decision = '../docs/decisions/016-public-mcp-api.md';

export function report(measurements: Measurements, effort: Effort): string {
  const results = Results.of(measurements);
  const shown = allContenders.filter(isInstalled);
  const rows = figures.map((figure) => [
    `${figure.item}`,
    titleOf(figure),
    ...shown.map((name) => cell(results, name, figure)),
    targetText(figure),
    verdictText(results, figure),
  ]);
  const head = ['', '', ...shown.map((name) => (name === us ? `**${us}**` : name)), 'target', ''];
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const verdicts = figures.map((figure) => verdictOf(results, figure)).filter((verdict) => verdict !== '');
  const met = verdicts.filter((verdict) => verdict.startsWith('met'));
  const inEveryRound = met.filter((verdict) => verdict === 'met');
  const whyMissed = `. [Decision 016](${decision}) explains the others`;
  const notes = results.notes.map((note) => `- ${note}`).join('\n');
  return `# Benchmark results

${met.length} of ${verdicts.length} targets are met in the median, ${inEveryRound.length} of them in every round${met.length < verdicts.length ? whyMissed : ''}.
A cell has the median of the ratios to the base of the row and, in brackets, the median of the values; the base has only
values. ${moreMark} marks rows where more is better. [README.md](README.md) explains what is measured.

![ratios](results.svg)

${table}

## Machine and noise

| | |
|---|---|
${partsOf(measurements)}
| machine | ${machine()} |
| Node | ${process.version} |
| repeats | ${ROUNDS} (${otherRounds()}), each in its own process; each is the median of ${effort.moments} parts, ${effort.measureMs} ms in total; ${effort.starts} cold starts each |
| warm-up | ${effort.warmMs} ms, up to twice that for ${WARM_RUNS.toLocaleString('en')} runs (runs of 200 steps: at least one), up to five times that for ${WARM_CALLS.toLocaleString('en')} server calls; a contender that is warm continues until all are |
| spread | half the distance between the lowest and the highest repeat, relative to the median, shown as ±. Typical: ±${percent(results.noise)} |

## Contenders

${contendersTable(results.revisions)}

The revision is the one used with the server in process: linked in memory that server speaks only 2025, over HTTP both eras.
${notes ? `\nNot measured:\n\n${notes}\n` : ''}`;
}

/** What must be the same for all figures of one table. */
export function conditionsOf(effort: Effort): Conditions {
  const versions = Object.fromEntries(allContenders.map((name) => [name, versionsOf(name)]));
  return { machine: machine(), node: process.version, effort, versions };
}

/** A table row for each commit at which workloads were measured. */
function partsOf(measurements: Measurements): string {
  const parts = Object.keys(workloads).flatMap((work) => ({ work, ...measurements.get(work) }));
  return [...Map.groupBy(parts, ({ commit: measuredAt }) => measuredAt)]
    .map(([measuredAt, group]) => {
      const minutes = group.reduce((sum, part) => sum + (part.minutes ?? 0), 0).toFixed(0);
      const stolen = group.map((part) => part.stolen ?? 0);
      const taken = `${percent(Math.max(...stolen))} of the CPU time taken by other virtual machines`;
      return `| commit ${measuredAt} | ${group.map(({ work }) => work).join(', ')}: ${minutes} minutes, at most ${taken} |`;
    })
    .join('\n');
}

/** The current commit, with -dirty if there are uncommitted changes. */
export function commit(): string {
  return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim();
}

export function machine(): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores, ${memory}, ${process.platform} ${process.arch}`;
}

/** Names the workloads with a different number of rounds, and those where peers have fewer. */
function otherRounds(): string {
  const namesBy = (roundsOf: (workload: Workload) => number | undefined) => {
    const by = Map.groupBy(Object.keys(workloads), (name) => roundsOf(workloads[name] as Workload));
    return [...by].flatMap(([rounds, names]) => (rounds === undefined ? [] : `${rounds} of ${names.join(', ')}`));
  };
  return [
    ...namesBy(({ rounds }) => rounds),
    ...namesBy(({ peerRounds }) => peerRounds).map((text) => `peers ${text}`),
  ].join('; ');
}

type Verdict = '' | 'met' | 'met, not in every round' | '**missed**' | '**missed**, not measured' | 'not judged';

/** The median decides. If we have no value, the target is missed; if a peer has none, it is not judged. Empty without a target. */
export function verdictOf(results: Results, figure: Figure): Verdict {
  const { id, target, work } = figure;
  if (!target) return '';
  const rounds = target.value === undefined ? results.ratios(us, id) : results.values(us, id);
  if (rounds.length === 0) return '**missed**, not measured';
  const { ofPeers = 0 } = target;
  const peerValues = ofPeers ? loopPeers.map((name) => results.value(name, id)) : [];
  const ours = results.value(us, id) ?? Number.NaN;
  const isBelowPeers = peerValues.every((value) => value === undefined || ours <= ofPeers * value);
  if (!meets(figure, median(rounds)) || !isBelowPeers) return '**missed**';
  if (peerValues.includes(undefined)) return 'not judged';
  const isAlways = rounds.every((value) => meets(figure, value)) && !results.hasFailed(us, work);
  return isAlways ? 'met' : 'met, not in every round';
}

/** Adds to a missed target whether the floor misses it, too. */
export function verdictText(results: Results, figure: Figure): string {
  const verdict = verdictOf(results, figure);
  const best = results.ratio(floor, figure.id);
  const isBeyondFloor = figure.base !== floor && best !== undefined && !meets(figure, best);
  return verdict === '**missed**' && isBeyondFloor ? `${verdict}, as by the floor` : verdict;
}

/** The ratio and the value, or only the value if this is the base or there is no base. */
export function cell(results: Results, name: string, { id, base, unit }: Figure): string {
  const values = results.values(name, id);
  if (values.length === 0) return '';
  const ratios = results.ratios(name, id);
  if (unit === '×') return `${short(median(ratios))} ×${noise(ratios)}`;
  if (name === base || ratios.length === 0) return `${short(median(values))}${noise(values)}`;
  return `${short(median(ratios))} ×${noise(ratios)} (${short(median(values))})`;
}

function noise(values: readonly number[]): string {
  return values.length > 1 ? ` ±${percent(spreadOf(values))}` : '';
}

export function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}

export function short(value: number): string {
  const digits = value < 1.995 ? 2 : value < 9.95 ? 1 : 0;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}
