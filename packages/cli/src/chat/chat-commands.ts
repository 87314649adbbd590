// The commands of a chat, and how they are completed.

import { didYouMean, isPocketError, PocketError } from '@pocket-agent/kit';
import { type ProfileName, profiles, resolveModel } from 'pocket-agent';
import { readProfile } from 'pocket-agent/internal';
import { completePath } from '../files/complete-path.ts';
import { readImage } from '../files/images.ts';
import { listSessions, Session } from '../files/sessions.ts';
import { settingsFor } from '../setup/model-settings.ts';
import { columns, toolRows, toolTable } from '../terminal/tool-table.ts';
import { plural, usageLine } from '../terminal/usage-line.ts';
import type { ChatState } from './chat.ts';
import { sessionLines } from './list-sessions.ts';

export interface ChatCommand {
  name: string;
  also?: string;
  takes?: string;
  about: string;
  /** Ends the chat. */
  leaves?: true;
  run(state: ChatState, argument: string): void | Promise<void>;
  /** What the last word of the argument may become. */
  complete?(word: string, state: ChatState): readonly string[];
}

const modelStarts = ['anthropic/', 'openai/', 'google/', 'azure/', 'ollama/', 'openai-compatible/', 'demo'];
const NO_PROFILE = 'none';
const profileNames = [...Object.keys(profiles), NO_PROFILE];

export const chatCommands: readonly ChatCommand[] = [
  { name: 'tools', about: 'every tool, what it can do, and whether it is allowed', run: listTools },
  {
    name: 'model',
    takes: '[NAME]',
    about: 'the model, or another one from here on',
    run: switchModel,
    complete: () => modelStarts,
  },
  {
    name: 'profile',
    takes: '[NAME]',
    about: 'what tools may do: reader, writer, manager, admin, none',
    run: switchProfile,
    complete: () => profileNames,
  },
  {
    name: 'agent',
    takes: '[FOLDER...|all|none]',
    about: 'the tool folders, or which of them to use; the conversation stays',
    run: switchFolders,
    complete: (_word, state) => [...folderNames(state), 'all', 'none'],
  },
  {
    name: 'image',
    takes: 'FILE',
    about: 'a picture for the next message',
    run: addImage,
    complete: completePath,
  },
  { name: 'reset', about: 'forget the conversation', run: reset },
  {
    name: 'save',
    takes: 'NAME',
    about: 'keep the conversation under a name; --session NAME goes on with it',
    run: save,
  },
  { name: 'sessions', about: 'the conversations that are kept', run: showSessions },
  { name: 'cost', about: 'what this chat has used so far', run: showCost },
  { name: 'help', about: 'this list', run: showHelp },
  { name: 'exit', also: 'quit', about: 'leave; Ctrl-D and Ctrl-C twice do the same', leaves: true, run: () => {} },
];

/** For the tab key: commands, then what their last word may be. */
export function completeCommand(line: string, state: ChatState | undefined): [string[], string] {
  const [, name, rest] = /^\/([a-z-]*)(\s.*)?$/i.exec(line) ?? [];
  if (name === undefined || !state) return [[], line];
  if (rest === undefined) {
    const names = chatCommands.map((command) => `/${command.name}${command.takes ? ' ' : ''}`);
    return [names.filter((each) => each.startsWith(line)), line];
  }
  const word = /\S*$/.exec(rest)?.[0] ?? '';
  const candidates = chatCommands.find((command) => command.name === name)?.complete?.(word, state) ?? [];
  return [candidates.filter((each) => each.startsWith(word)), word];
}

async function listTools({ agent, folders, profile, signal, print, connecting }: ChatState): Promise<void> {
  const checked = profile === undefined ? undefined : readProfile(profile);
  const rows = await connecting(toolRows([agent.mcpClient, ...folders], checked, signal, 'ready'));
  for (const [server, { status, reason }] of agent.mcpClient.status) {
    if (status !== 'connected') print(`server ${server}: ${reason ?? status}`);
  }
  print(...(rows.length > 0 ? toolTable(rows) : ['There are no tools.']));
}

async function switchModel(state: ChatState, name: string): Promise<void> {
  if (name === '') return state.print(state.modelName);
  state.model.current = await resolveModel(name, settingsFor(state.request, name)).catch((error) => {
    if (!isPocketError(error, 'MODEL_KEY_MISSING')) throw error;
    // in a chat no key can be passed
    const message = `${error.message.replace(/, or pass .*$/, '')}, and start again.`;
    throw new PocketError(error.code, message, { cause: error });
  });
  state.modelName = name;
  state.print(`From here on: ${name}`);
}

function switchProfile(state: ChatState, name: string): void {
  if (name === '') {
    const { profile } = state;
    state.print(typeof profile === 'string' ? profile : (profile?.capabilities.join(', ') ?? NO_PROFILE));
    return;
  }
  if (!profileNames.includes(name)) {
    const message = `There is no profile "${name}".${didYouMean(name, profileNames)} Available: ${profileNames.join(', ')}.`;
    throw new PocketError('CONFIG_INVALID', message);
  }
  state.profile = name === NO_PROFILE ? undefined : (name as ProfileName);
  state.print(`From here on: ${name}`);
}

function folderNames({ folders }: ChatState): string[] {
  return folders.flatMap((folder) => folder.folders.map(({ name }) => name));
}

async function switchFolders(state: ChatState, argument: string): Promise<void> {
  const { folders, print } = state;
  if (folders.length === 0) return print('There are no tool folders: start with --tools DIR.');
  if (argument !== '') await activate(state, argument);
  const rows = folders
    .flatMap((folder) => folder.folders)
    .map(({ name, humanName, active, tools, problems }) => [
      active ? '●' : '○',
      name,
      problems.length > 0 ? 'broken: see doctor' : plural(tools.length, 'tool'),
      humanName,
    ]);
  print(...columns(rows));
}

async function activate(state: ChatState, argument: string): Promise<void> {
  const known = folderNames(state);
  const wanted = argument === 'none' ? [] : argument === 'all' ? known : argument.split(/[\s,]+/);
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new PocketError(
      'CONFIG_INVALID',
      `There is no tool folder "${unknown}".${didYouMean(unknown, known)} Available: ${known.join(', ')}.`,
    );
  }
  for (const folder of state.folders) {
    const own = folder.folders.map(({ name }) => name);
    await folder.activate(own.filter((name) => wanted.includes(name)));
  }
}

async function addImage(state: ChatState, file: string): Promise<void> {
  if (file === '') return state.print('Which picture? /image FILE');
  if (!state.agent.allowImages) return state.print('The agent file does not allow pictures (agentConfig.allowImages).');
  state.images.push(await readImage(file));
  state.print(`${plural(state.images.length, 'picture')} will go with your next message.`);
}

async function reset({ agent, approver, session, print }: ChatState): Promise<void> {
  agent.resetMessages();
  approver.forget();
  await session?.save(agent.messages);
  print('The conversation begins anew.');
}

async function save(state: ChatState, name: string): Promise<void> {
  if (name === '') return state.print('Under which name? /save NAME');
  if (state.session?.name !== name) {
    const session = await Session.open(name);
    if (session.messages.length > 0) {
      session.close();
      throw new PocketError('CONFIG_INVALID', `There is a session "${name}" already: take another name.`);
    }
    state.session?.close();
    state.session = session;
  }
  await state.session.save(state.agent.messages);
  state.print(`Kept in ${state.session.file} from here on; --session ${name} goes on with it.`);
}

async function showSessions({ print }: ChatState): Promise<void> {
  const lines = sessionLines(await listSessions());
  print(...(lines.length > 0 ? lines : ['No conversation is kept yet: /save NAME keeps this one.']));
}

function showCost({ agent, print }: ChatState): void {
  const { usage, byTool } = agent.totals;
  const tools = Object.entries(byTool).map(([tool, { calls, errors }]) => [
    `  ${tool}`,
    plural(calls, 'call'),
    errors > 0 ? `${errors} failed` : '',
  ]);
  print(usageLine(usage), ...columns(tools));
}

function showHelp({ print }: ChatState): void {
  const rows = chatCommands.map(({ name, takes, about }) => [`/${name}${takes ? ` ${takes}` : ''}`, about]);
  print(...columns(rows), 'A line that ends with \\ goes on in the next. Ctrl-C stops an answer.');
}
