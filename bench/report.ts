// The results as a table in Markdown.
import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import type { Effort } from './contender.ts';
import { everybody, floor, isInstalled, loopPeers, us } from './contenders.ts';
import { type Figure, figures, meets, more, targetText, titleOf } from './figures.ts';
import { contendersTable } from './reach.ts';
import { type Results, spreadOf } from './results.ts';
import { WARM_CALLS } from './tasks/wire.ts';
import { median, WARM_RUNS } from './timing.ts';
import { ROUNDS, works } from './works.ts';

interface ReportParts {
  effort: Effort;
  minutes: number;
  /** Of the time of its processors, given to other machines; undefined where that cannot be known. */
  stolen: number | undefined;
}

const decision = '../docs/decisions/011-where-the-benchmark-is-missed.md';

export function report(results: Results, { effort, minutes, stolen }: ReportParts): string {
  const shown = everybody.filter(isInstalled);
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
  const always = met.filter((verdict) => verdict === 'met');
  const whyMissed = `; why the others are missed is in [decision 011](${decision})`;
  const notes = results.notes.map((note) => `- ${note}`).join('\n');
  return `# Side by side

Of ${verdicts.length} targets ${met.length} are met in the median, ${always.length} of them whenever they were measured${met.length < verdicts.length ? whyMissed : ''}.
A cell is the median of the ratios to the base of the row, and in brackets that of the values; the base has values alone.
${more} marks the rows where more is better. [What is measured, and beside what floor](README.md).

![ratios](results.svg)

${table}

## Machine and noise

| | |
|---|---|
| made by | \`npm run bench\`, in ${minutes.toFixed(0)} minutes |
| of | commit ${commit()} |
| machine | ${machine()} |
| Node | ${process.version} |
| taken by others | ${stolen === undefined ? 'unknown' : `${percent(stolen)} of the processors' time in this run`} |
| repeats | ${ROUNDS} (${otherRounds()}), each in a process of its own; of each the median of ${effort.moments} moments, ${effort.measureMs} ms in all; ${effort.starts} cold starts in each |
| warming up | ${effort.warmMs} ms, up to four times that for ${WARM_RUNS.toLocaleString('en')} runs (runs of 200 steps: at least one), up to ten times that for ${WARM_CALLS.toLocaleString('en')} calls of a server; whoever is done goes on until everybody is |
| spread | half of the distance from the lowest to the highest repeat, as a part of the median, shown as ±. Typical: ±${percent(results.noise)} |

## Who is measured

${contendersTable(results.revisions)}

The revision is the one that the server in process was spoken to in: linked in memory it speaks 2025 alone, over HTTP both.
${notes ? `\nLeft out:\n\n${notes}\n` : ''}`;
}

/** With -dirty after it where something was not committed. */
function commit(): string {
  return execFileSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8' }).trim();
}

export function machine(): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores, ${memory}, ${process.platform} ${process.arch}`;
}

/** Of works that are not measured as often as most. */
function otherRounds(): string {
  const by = Map.groupBy(Object.entries(works), ([, { rounds = ROUNDS }]) => rounds);
  by.delete(ROUNDS);
  const text = ([rounds, of]: [number, [string, unknown][]]) =>
    `${rounds} of ${of.map(([name]) => name).join(', ')}${rounds > ROUNDS ? `, peers ${ROUNDS}` : ''}`;
  return [...by].map(text).join('; ');
}

type Verdict = '' | 'met' | 'met, not in every round' | '**missed**' | '**missed**, not measured' | 'not judged';

/** The median decides; who fails has not met it, and where a peer fails nobody can tell. Empty without a target. */
export function verdictOf(results: Results, figure: Figure): Verdict {
  const { id, target, work } = figure;
  if (!target) return '';
  const rounds = target.value === undefined ? results.ratios(us, id) : results.values(us, id);
  if (rounds.length === 0) return '**missed**, not measured';
  const { ofPeers = 0 } = target;
  const theirs = ofPeers ? loopPeers.map((name) => results.value(name, id)) : [];
  const ours = results.value(us, id) ?? Number.NaN;
  const isBelowPeers = theirs.every((value) => value === undefined || ours <= ofPeers * value);
  if (!meets(figure, median(rounds)) || !isBelowPeers) return '**missed**';
  if (theirs.includes(undefined)) return 'not judged';
  const isAlways = rounds.every((value) => meets(figure, value)) && !results.hasFailed(us, work);
  return isAlways ? 'met' : 'met, not in every round';
}

/** The same, and for what is missed whether anybody could have met it. */
export function verdictText(results: Results, figure: Figure): string {
  const verdict = verdictOf(results, figure);
  const best = results.ratio(floor, figure.id);
  const isBeyondFloor = figure.base !== floor && best !== undefined && !meets(figure, best);
  return verdict === '**missed**' && isBeyondFloor ? `${verdict}, as by the floor` : verdict;
}

/** The ratio, and beside it the value; that alone for the base, and where there is none. */
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
