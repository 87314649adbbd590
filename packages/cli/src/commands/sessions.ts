// The command `pocket-agent sessions`: lists, shows, renames, deletes and exports saved conversations.
import { PocketError } from '@pocket-agent/kit';
import { toOpenAiMessages } from 'pocket-agent';
import { messageLines, sessionLines } from '../chat/session-lines.ts';
import { actionNamed, readArguments } from '../command-line/arguments.ts';
import { program } from '../command-line/help.ts';
import { Sessions } from '../files/sessions.ts';

const options = { search: { type: 'string' }, openai: { type: 'boolean', default: false } } as const;
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
  const isForeign = tokens.some((token) => token.kind === 'option' && !action.options.includes(token.name));
  if (isForeign || names.length < action.least || names.length > action.most)
    throw new PocketError('CONFIG_INVALID', `Usage: ${program} sessions ${name} ${action.takes}`);
  const sessions = await Sessions.open();
  try {
    process.stdout.write(await action.run(sessions, names, values));
    return 0;
  } finally {
    await sessions.close();
  }
}

async function list(sessions: Sessions, _names: readonly string[], { search }: Values): Promise<string> {
  const lines = sessionLines(await sessions.list(search));
  if (lines.length > 0) return `${lines.join('\n')}\n`;
  const advice = search === undefined ? `${program} --session NAME saves one.` : 'Search for another text.';
  process.stderr.write(`No saved conversations. ${advice}\n`);
  return '';
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
