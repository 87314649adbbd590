// The results as a table in Markdown.
import { cpus, totalmem } from 'node:os';
import type { Effort } from './contender.ts';
import { everybody, floor, isInstalled, loopPeers, us } from './contenders.ts';
import { type Figure, figures, meets, targetText } from './figures.ts';
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
    `${figure.title}${figure.unit ? `, ${figure.unit}` : ''}`,
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

Made by \`npm run bench\` in ${minutes.toFixed(0)} minutes. Of ${verdicts.length} targets ${met.length} are met in the median, ${always.length} of them whenever they were
measured${met.length < verdicts.length ? whyMissed : ''}. A cell is
the median of the ratios to the base of the row, each in the same round, and in brackets that of the values:
\`mcp-sdk\` is the bare client of the MCP SDK v2; \`floor\` is a hand-written loop, in items 5 and 12 bare node where nothing
is answered, in 8 bytes written to a socket or a pipe by hand, in 9 the model itself, in 10 looking through every text and the A2A
SDK's client, in 11 a bare MCP server. A question on the command line is held against the bare client that calls the same
tool of the same server. \`ai\` is the AI SDK by its class, \`generateText\` by that function, where steps and deltas are
measured.

Steps of items 1 and 2, deltas, model calls and items 10 and 11 are CPU time of the process, garbage collection included;
items 3, 4, 5 and 12 and the rates of 8 are on the clock. A step of items 1 and 2 is a twentieth of a run, with its
beginning and its answer. Step 10 is the median of steps 6 to 15, step 200 that of the last ten, with ten tools. The ideal of item 3 is what the floor takes. In item 8 all contenders
of a repeat call one HTTP server; over stdio each starts its own, and two of one program, warmed up alike, differ by up to a
quarter. The HTTP server of 2026 speaks both eras and makes itself anew for every request, the one of 2025 keeps sessions
and answers with streams; what is in flight are 32 lines of eight calls each. Agents are sought among ${effort.registered.toLocaleString('en')}.

Idle agents share their tools, as those of one program do, but in one row: there each has ten that were made for it
over one schema, of which all is counted but the descriptions and functions that everybody is given. By MCP each has a server of its own, which counts too (not
Mastra's and VoltAgent's: over HTTP a server lasts a request). What all
servers list alike we keep once, and the target of that row rests on it; in the row after it every server has its own
words for its tools. That row and the one of agents after an answer have no target, and would miss those of their
neighbours. An import alone is a door with nothing behind it, so the row after
it adds one run with one tool.

The agent behind the bridge and the backend of Mattermost are in processes of their own, over HTTP the client too, and
both floors have our \`fetch\`: a call of another agent is the CPU of its caller, who looks it up in a
registry on disk, checks limits and writes the call down there, while the floor only calls. Calls of Mattermost are those in
a second of CPU of the server (in process: of client and server), and once on the clock.

What is measured of ours once it is warm are its sources, whose types are stripped; items 5 and 12 take what is published.
Calls of item 8 go through the MCP client of each; of Mastra, which shows none, through the tool it makes of what a server
lists. LangChain and VoltAgent speak 2025 there, the others the newest revision that they and the server have.

![ratios](results.svg)

${table}

## Machine and noise

| | |
|---|---|
| machine | ${machine()} |
| Node | ${process.version} |
| taken by others | ${stolen === undefined ? 'unknown' : `${percent(stolen)} of the processors' time in this run`} |
| repeats | ${ROUNDS} (${otherRounds()}), each in a process of its own, after ${effort.warmMs} ms of warming up (up to four times that, for ${WARM_RUNS.toLocaleString('en')} runs; runs of 200 steps at least one; calls to a server, with 32 in flight and before those one by one, up to ten times that, for ${WARM_CALLS.toLocaleString('en')}), which whoever is done with goes on with until everybody is; of each the median of ${effort.moments} moments, ${effort.measureMs} ms in all; ${effort.starts} cold starts in each |
| order | the processes of all contenders are there at the same time, warm up and measure one after the other, a moment each (memory of idle agents: one whole after the other); in every repeat another one is first, and as far as there are enough of them everybody comes after someone else |
| spread | half of the distance from the lowest to the highest repeat, as a part of the median, shown as ±. Typical: ±${percent(results.noise)} |

## Who is measured

${contendersTable(results.revisions)}

The revision is the one that the server was spoken to in; nobody is held to one. The tracing of OpenAI Agents is switched off; VoltAgent's makes its spans, but they are not stored.
${notes ? `\nLeft out:\n\n${notes}\n` : ''}`;
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
