// The command `pocket-agent eval`: runs the cases of a YAML file, checks the answers and compares variants.
import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorText, makeFolder, PocketError, printable, printableJson } from '@pocket-agent/kit';
import { readArguments, wholeNumber } from '../command-line/arguments.ts';
import { exitCodes } from '../command-line/exit-codes.ts';
import type { Interrupts } from '../command-line/interrupts.ts';
import { MAX_REPEATS, readEvalFile } from '../eval/eval-file.ts';
import { evalTable, failureLines } from '../eval/eval-table.ts';
import { junitXml } from '../eval/junit.ts';
import type { CaseRun } from '../eval/run-case.ts';
import { countRuns, runCases } from '../eval/run-cases.ts';
import { readVariants } from '../eval/variants.ts';
import { accessFlags, sourceFlags } from '../setup/agent-request.ts';
import { progressLine } from '../terminal/progress-bars.ts';
import { Screen } from '../terminal/screen.ts';
import { screenLogger } from '../terminal/screen-logger.ts';

const DEFAULT_PARALLEL = 4;

const evalOptions = {
  ...sourceFlags,
  ...accessFlags,
  agent: { type: 'string', multiple: true },
  model: { type: 'string', short: 'm', multiple: true },
  'system-prompt': { type: 'string', multiple: true },
  case: { type: 'string', multiple: true },
  repeats: { type: 'string' },
  parallel: { type: 'string' },
  junit: { type: 'string' },
  json: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
} as const;

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals } = readArguments(args, evalOptions);
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0)
    throw new PocketError('CONFIG_INVALID', 'Name one YAML file with cases: pocket-agent eval FILE');
  const { agent, model, 'system-prompt': prompts = [], case: names = [], ...others } = values;
  const parallel = wholeNumber('parallel', values.parallel) ?? DEFAULT_PARALLEL;
  const repeats = readRepeats(values.repeats);
  const { signal } = interrupts.listen();
  const evalFile = await readEvalFile(file);
  const agents = agent ?? (evalFile.agent === undefined ? [] : [evalFile.agent]);
  const models = model ?? (evalFile.model === undefined ? [] : [evalFile.model]);
  const variants = await readVariants({ agents, models, prompts, values: others });
  const cases = chosenCases(evalFile.cases, names).map((each) => (repeats === undefined ? each : { ...each, repeats }));

  const screen = new Screen(process.stdout, process.stderr);
  const shownLines = new Set<string>();
  const tell = (line: string) => {
    if (shownLines.has(line)) return;
    shownLines.add(line);
    screen.line(printable(line));
  };
  const total = countRuns(variants, cases);
  let failed = 0;
  const showProgress = (progress: number) =>
    screen.status([
      progressLine({
        toolCallId: '',
        toolName: 'eval',
        progress,
        total,
        message: `${progress}/${total}, ${failed} failed`,
      }),
    ]);
  const onRun = (run: CaseRun, done: number) => {
    if (!run.passed) failed++;
    if (values.json) screen.answer(`${printableJson(run)}\n`);
    showProgress(done);
  };
  try {
    const approve = values.yes ? () => 'allow' as const : undefined;
    const logger = screenLogger(tell);
    showProgress(0);
    const { runs, ended } = await runCases(variants, cases, { approve, logger, signal, tell, parallel, onRun });
    screen.status([]);
    if (!values.json && runs.length > 0) screen.answer(`${[...evalTable(runs), ...failureLines(runs)].join('\n')}\n`);
    if (ended) {
      if (runs.length > 0) screen.line(`${runs.length} of ${total} runs were completed.`);
      throw ended.error;
    }
    if (values.junit !== undefined) await writeReport(values.junit, junitXml(file, runs));
    return failed > 0 ? exitCodes.failed : exitCodes.answered;
  } finally {
    screen.close();
  }
}

function readRepeats(given: string | undefined): number | undefined {
  const repeats = wholeNumber('repeats', given);
  if (repeats === undefined || repeats <= MAX_REPEATS) return repeats;
  throw new PocketError('CONFIG_INVALID', `--repeats must be at most ${MAX_REPEATS}, not ${repeats}.`);
}

function chosenCases<Case extends { name: string }>(cases: readonly Case[], names: readonly string[]): readonly Case[] {
  for (const name of names) {
    if (cases.some((each) => each.name === name)) continue;
    const known = cases.map((each) => `"${each.name}"`).join(', ');
    throw new PocketError('CONFIG_INVALID', `There is no case "${name}". Available: ${known}.`);
  }
  return names.length === 0 ? cases : cases.filter(({ name }) => names.includes(name));
}

async function writeReport(file: string, xml: string): Promise<void> {
  try {
    await makeFolder(dirname(file));
    await writeFile(file, xml);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `Cannot write ${file}: ${errorText(error)}`, { cause: error });
  }
}
