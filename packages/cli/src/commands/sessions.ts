// The command `pocket-agent sessions`: lists, shows, renames, deletes and exports conversations that it or a program saved.
import { PocketError, printable } from '@pocket-agent/kit';
import { toOpenAiMessages } from 'pocket-agent';
import { messageLines, sessionLines } from '../chat/session-lines.ts';
import { actionNamed, readArguments } from '../command-line/arguments.ts';
import { program } from '../command-line/help.ts';
import { programDatabases } from '../files/program-databases.ts';
import { Sessions } from '../files/sessions.ts';

const options = {
  search: { type: 'string' },
  openai: { type: 'boolean', default: false },
  conversations: { type: 'string' },
  scope: { type: 'string' },
} as const;
const forAll = ['conversations', 'scope'];
type Values = ReturnType<typeof readArguments<typeof options>>['values'];

interface Action {
  /** The arguments in error messages. */
  takes: string;
  least: number;
  most: number;
  options: readonly string[];
  run(sessions: Sessions, names: readonly string[], values: Values): Promise<string>;
}

const actions: Readonly<Record<string, Action>> = {
  list: { takes: '[--search TEXT]', least: 0, most: 0, options: ['search'], run: list },
  show: { takes: 'NAME', least: 1, most: 1, options: [], run: show },
  rename: { takes: 'NAME NEW_NAME', least: 2, most: 2, options: [], run: rename },
  delete: { takes: 'NAME...', least: 1, most: Number.POSITIVE_INFINITY, options: [], run: remove },
  export: { takes: 'NAME [--openai]', least: 1, most: 1, options: ['openai'], run: exportSession },
};

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals, tokens } = readArguments(args, options);
  const [name = 'list', ...names] = positionals;
  const action = actionNamed('sessions', name, actions);
  const accepted = [...forAll, ...action.options];
  const isForeign = tokens.some((token) => token.kind === 'option' && !accepted.includes(token.name));
  if (isForeign || names.length < action.least || names.length > action.most)
    throw new PocketError('CONFIG_INVALID', `Usage: ${program} sessions ${name} ${action.takes}`);
  const { conversations: location, scope } = values;
  if (location === undefined && scope !== undefined)
    throw new PocketError('CONFIG_INVALID', '--scope needs the database of the program: --conversations DATABASE.');
  const sessions = location === undefined ? await Sessions.open() : await Sessions.ofProgram(location, scope);
  try {
    process.stdout.write(await action.run(sessions, names, values));
    return 0;
  } finally {
    await sessions.close();
  }
}

async function list(sessions: Sessions, _names: readonly string[], values: Values): Promise<string> {
  const lines = sessionLines(await sessions.list(values.search));
  if (lines.length === 0) process.stderr.write(`${await explainEmptyList(sessions, values)}\n`);
  if (values.conversations === undefined) {
    for (const file of await programDatabases())
      process.stderr.write(
        `${printable(file)} has conversations of a program: ${program} sessions --conversations ${shellWord(file)}\n`,
      );
  }
  return lines.map((line) => `${line}\n`).join('');
}

async function explainEmptyList(sessions: Sessions, values: Values): Promise<string> {
  const { search } = values;
  if (search === undefined) return `No saved conversations. ${await adviceFor(sessions, values)}`;
  const { length } = await sessions.list();
  if (length === 0) return `No saved conversations to search. ${await adviceFor(sessions, values)}`;
  const which =
    length === 1 ? 'The saved conversation does not contain' : `None of the ${length} saved conversations contains`;
  return `${which} "${printable(search)}". Search for fewer words, or leave out --search to list all.`;
}

async function adviceFor(sessions: Sessions, { conversations }: Values): Promise<string> {
  if (conversations === undefined) return `${program} --session NAME saves one.`;
  if (await sessions.hasOwners()) return `Those in this database belong to callers, whom ${program} callers lists.`;
  return 'If the program gave them a scope, add --scope NAME.';
}

/** Quotes a file name for a shell. In single quotes `$( )` and backticks are not executed. */
function shellWord(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `'${printable(name).replaceAll("'", "'\\''")}'`;
}

async function show(sessions: Sessions, [name = '']: readonly string[]): Promise<string> {
  const { messages } = await sessions.export(name);
  return `${messages.flatMap(messageLines).join('\n')}\n`;
}

async function rename(sessions: Sessions, [name = '', newName = '']: readonly string[]): Promise<string> {
  await sessions.rename(name, newName);
  return '';
}

async function remove(sessions: Sessions, names: readonly string[]): Promise<string> {
  for (const name of names) await sessions.delete(name);
  return '';
}

async function exportSession(sessions: Sessions, [name = '']: readonly string[], { openai }: Values): Promise<string> {
  const conversation = await sessions.export(name);
  return `${JSON.stringify(openai ? toOpenAiMessages(conversation.messages) : conversation, null, 2)}\n`;
}
