// The command `pocket-agent runs`: lists runs and their questions, shows a run, answers a question, cancels a run.
import { existsSync } from 'node:fs';
import { errorText, isRecord, PocketError, printable, printableText } from '@pocket-agent/kit';
import type { Question, QuestionAnswer, RunEvent, RunInfo, RunStatus, Runs } from '@pocket-agent/runs';
import { messageLines } from '../chat/session-lines.ts';
import { actionNamed, readArguments } from '../command-line/arguments.ts';
import { program } from '../command-line/help.ts';
import { runsUrl } from '../files/runs-url.ts';
import { columns } from '../terminal/text-width.ts';

interface Action {
  /** The arguments in error messages. */
  takes: string;
  /** The number of arguments. */
  count: number;
  run(runs: Runs, given: Given): Promise<string[]>;
}

interface Given {
  names: readonly string[];
  status: string | undefined;
  json: boolean;
}

const actions: Readonly<Record<string, Action>> = {
  list: { takes: '', count: 0, run: list },
  questions: { takes: '', count: 0, run: questions },
  show: { takes: ' RUN', count: 1, run: show },
  answer: { takes: ` QUESTION ANSWER`, count: 2, run: answer },
  cancel: { takes: ' RUN', count: 1, run: cancel },
};

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    runs: { type: 'string' },
    status: { type: 'string' },
    json: { type: 'boolean', default: false },
  });
  const [name = 'list', ...names] = positionals;
  const action = actionNamed('runs', name, actions);
  if (names.length !== action.count)
    throw new PocketError('CONFIG_INVALID', `Usage: ${program} runs ${name}${action.takes} --runs DATABASE`);
  const { openRuns } = await import('@pocket-agent/runs');
  const runs = await openRuns({ url: existing(runsUrl(values.runs)) });
  try {
    const lines = await action.run(runs, { names, status: values.status, json: values.json });
    process.stdout.write(lines.map((line) => `${line}\n`).join(''));
    return 0;
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', errorText(error), { cause: error });
  } finally {
    await runs.close();
  }
}

/** A misspelt name would make an empty database. */
function existing(url: string): string {
  const [, file] = /^sqlite:(?:\/\/)?(.+)$/.exec(url) ?? [];
  if (file === undefined || existsSync(file)) return url;
  throw new PocketError('CONFIG_INVALID', `There is no database ${file}: name the file of openRuns().`);
}

async function list(runs: Runs, { status, json }: Given): Promise<string[]> {
  const found: RunInfo[] = [];
  let cursor: string | undefined;
  do {
    const filter = status === undefined ? {} : { status: status as RunStatus };
    const page = await runs.list({ ...filter, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.runs);
    cursor = page.next;
  } while (cursor !== undefined);
  if (json) return found.map((run) => JSON.stringify(run));
  if (found.length === 0) process.stderr.write('There are no runs.\n');
  return columns(
    found.map(({ id, agent, status: now, updatedAt, input }) => [
      printable(id),
      now,
      printable(agent),
      updatedAt.slice(0, 16).replace('T', ' '),
      printable(typeof input === 'string' ? input : input.text, 60),
    ]),
  );
}

async function questions(runs: Runs, { json }: Given): Promise<string[]> {
  const found = await runs.questions({ limit: 1_000 });
  if (json) return found.map((question) => JSON.stringify(question));
  if (found.length === 0) process.stderr.write('No run waits for an answer.\n');
  return found.flatMap((question) => [...questionLines(question), '']);
}

async function show(runs: Runs, { names: [id = ''], json }: Given): Promise<string[]> {
  const run = await runs.get(id);
  if (!run) throw new PocketError('CONFIG_INVALID', `There is no run "${id}": ${program} runs list`);
  const events: RunEvent[] = [];
  for await (const event of runs.events(id)) {
    events.push(event);
    if (event.number >= run.events) break; // events() of an unfinished run would wait for more
  }
  if (json) return events.map((event) => JSON.stringify(event));
  const open = await runs.questions({ run: id, limit: 1_000 });
  return [`${printable(id)}: ${run.status}`, '', ...events.flatMap(eventLines), ...open.flatMap(questionLines)];
}

/** ANSWER is allow, deny, or JSON for all other answers. */
async function answer(runs: Runs, { names: [question = '', text = ''] }: Given): Promise<string[]> {
  let given: unknown = text;
  if (text !== 'allow' && text !== 'deny') {
    try {
      given = JSON.parse(text);
    } catch {
      // reported below
    }
    if (!isRecord(given))
      throw new PocketError('CONFIG_INVALID', `Answer allow, deny or JSON such as '{"deny":"why"}'.`);
  }
  // checked by `answer`
  await runs.answer(question, given as QuestionAnswer, { by: 'pocket-agent runs' });
  return [];
}

async function cancel(runs: Runs, { names: [id = ''] }: Given): Promise<string[]> {
  if (!(await runs.cancel(id))) process.stderr.write(`The run ${printable(id)} is over already.\n`);
  return [];
}

function questionLines({ id, run, caller, kind, call, request, server }: Question): string[] {
  const who = caller === undefined ? '' : ` for ${printable(caller)}`;
  const asked =
    kind === 'approval'
      ? `may ${printable(call?.path.join(' → ') ?? '')} call ${printable(call?.tool ?? '')} (${call?.capability})?`
      : `${printable(server ?? '')} asks: ${printable(request?.message ?? '', 500)}`;
  const details = call ? [`  ${printable(JSON.stringify(call.arguments), 2_000)}`] : [];
  return [`${id}  run ${printable(run)}${who}: ${asked}`, ...details];
}

function eventLines(event: RunEvent): string[] {
  switch (event.type) {
    case 'message':
      return messageLines(event.data);
    case 'answer':
      return [printable(`? answered: ${JSON.stringify(event.data.answer)}`), ''];
    case 'failed':
      return [printableText(`failed (${event.data.code}): ${event.data.message}`)];
    case 'cancelled':
      return ['cancelled'];
    default:
      return []; // messages and open questions show the same
  }
}
