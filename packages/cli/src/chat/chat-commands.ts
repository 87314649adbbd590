// The slash commands of the chat and their completion.

import { access, constants } from 'node:fs/promises';
import { didYouMean, isPocketError, PocketError } from '@pocket-agent/kit';
import { type ProfileName, profiles, resolveModel } from 'pocket-agent';
import { knownProviders, readProfile } from 'pocket-agent/internal';
import { completePath } from '../files/complete-path.ts';
import { fileInput, readImage } from '../files/images.ts';
import { settingsFor } from '../setup/model-settings.ts';
import { columns } from '../terminal/text-width.ts';
import { toolRows, toolTable } from '../terminal/tool-listing.ts';
import { plural, usageLine } from '../terminal/usage-line.ts';
import type { ChatState } from './chat-state.ts';
import { sessionLines } from './session-lines.ts';

export interface ChatCommand {
  name: string;
  also?: string;
  takes?: string;
  about: string;
  /** Ends the chat. */
  leaves?: true;
  run(state: ChatState, argument: string): void | Promise<void>;
  /** Completions for the last word of the argument. */
  complete?(word: string, state: ChatState): readonly string[];
}

const modelPrefixes = [...knownProviders.map(({ prefix }) => `${prefix}/`), 'demo'];
const NO_PROFILE = 'none';
const profileNames = [...Object.keys(profiles), NO_PROFILE];

export const chatCommands: readonly ChatCommand[] = [
  { name: 'tools', about: 'list the tools, their capability, and whether they are allowed', run: listTools },
  {
    name: 'model',
    takes: '[NAME]',
    about: 'show or switch the model',
    run: switchModel,
    complete: () => modelPrefixes,
  },
  {
    name: 'profile',
    takes: '[NAME]',
    about: 'show or switch the profile: reader, writer, manager, admin, none',
    run: switchProfile,
    complete: () => profileNames,
  },
  {
    name: 'agent',
    takes: '[FOLDER...|all|none]',
    about: 'show or choose the active tool folders',
    run: switchFolders,
    complete: (_word, state) => [...folderNames(state), 'all', 'none'],
  },
  {
    name: 'image',
    takes: 'FILE',
    about: 'add an image to the next message',
    run: addImage,
    complete: completePath,
  },
  {
    name: 'file',
    takes: 'FILE',
    about: 'add a PDF, audio, video or text file to the next message',
    run: addFile,
    complete: completePath,
  },
  { name: 'compact', about: 'replace older messages by a summary, for the model only', run: compact },
  { name: 'reset', about: 'start a new conversation', run: reset },
  {
    name: 'save',
    takes: 'NAME',
    about: 'save the conversation; --session NAME resumes it',
    run: save,
  },
  { name: 'sessions', takes: '[TEXT]', about: 'list the saved conversations, or those with TEXT', run: showSessions },
  { name: 'cost', about: 'show the usage of this chat', run: showCost },
  { name: 'help', about: 'show this list', run: showHelp },
  { name: 'exit', also: 'quit', about: 'leave (also Ctrl-D, or Ctrl-C twice)', leaves: true, run: () => {} },
];

/** Completes commands and the last word of their argument, for the tab key. */
export function completeCommand(line: string, state: ChatState | undefined): [string[], string] {
  const [, name, rest] = /^\/([a-z-]*)(\s.*)?$/i.exec(line) ?? [];
  if (name === undefined || !state) return [[], line];
  if (rest === undefined) {
    const names = chatCommands.map((command) => `/${command.name}${command.takes ? ' ' : ''}`);
    return [names.filter((candidate) => candidate.startsWith(line)), line];
  }
  const word = /\S*$/.exec(rest)?.[0] ?? '';
  const candidates = chatCommands.find((command) => command.name === name)?.complete?.(word, state) ?? [];
  return [candidates.filter((candidate) => candidate.startsWith(word)), word];
}

async function listTools({ agent, sources, profile, signal, print, connecting }: ChatState): Promise<void> {
  const checked = profile === undefined ? undefined : readProfile(profile);
  const all = [agent.mcpClient, ...sources];
  const rows = await connecting(toolRows({ sources: all, profile: checked, signal, wait: 'ready' }));
  for (const [server, { status, reason }] of agent.mcpClient.status) {
    if (status !== 'connected') print(`server ${server}: ${reason ?? status}`);
  }
  print(...(rows.length > 0 ? toolTable(rows) : ['No tools.']));
}

async function switchModel(state: ChatState, name: string): Promise<void> {
  if (name === '') return state.print(state.modelName);
  state.model.current = await resolveModel(name, settingsFor(state.request, name)).catch((error) => {
    if (!isPocketError(error, 'MODEL_KEY_MISSING')) throw error;
    // the advice to pass a key is for programs
    const message = `${error.message.replace(/, or pass .*$/, '')}, and start again.`;
    throw new PocketError(error.code, message, { cause: error });
  });
  state.modelName = name;
  state.print(`Now using ${name}`);
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
  state.print(`Now using ${name}`);
}

function folderNames({ folders }: ChatState): string[] {
  return folders.flatMap((folder) => folder.folders.map(({ name }) => name));
}

async function switchFolders(state: ChatState, argument: string): Promise<void> {
  const { folders, print } = state;
  if (folders.length === 0) return print('No tool folders: start with --tools DIR.');
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
  if (file === '') return state.print('Usage: /image FILE');
  if (!state.agent.allowImages) return state.print('The agent file does not allow images (allowImages).');
  state.images.push(await readImage(file));
  state.print(`${plural(state.images.length, 'image')} will be sent with your next message.`);
}

async function addFile(state: ChatState, file: string): Promise<void> {
  if (file === '') return state.print('Usage: /file FILE');
  const added = fileInput(file);
  if (added.path !== undefined) await access(added.path, constants.R_OK);
  state.files.push(added);
  state.print(`${plural(state.files.length, 'file')} will be sent with your next message.`);
}

async function compact({ agent, signal, print }: ChatState): Promise<void> {
  const done = await agent.compact({ signal });
  if (!done) return print('The conversation is too short to compact.');
  const { tokensBefore, tokensAfter } = done;
  print(`Compacted from about ${tokensBefore.toLocaleString('en')} to ${tokensAfter.toLocaleString('en')} tokens.`);
}

async function reset({ agent, approver, session, sessions, print }: ChatState): Promise<void> {
  agent.resetMessages();
  approver.forget();
  if (session !== undefined) await (await sessions()).clear(session);
  print('New conversation.');
}

async function save(state: ChatState, name: string): Promise<void> {
  if (name === '') return state.print('Usage: /save NAME');
  if (state.session !== name) await (await state.sessions()).saveAs(name, state.agent);
  state.session = name;
  state.print(`Saved after each message; --session ${name} resumes it.`);
}

async function showSessions({ print, sessions }: ChatState, text: string): Promise<void> {
  const lines = sessionLines(await (await sessions()).list(text || undefined));
  print(...(lines.length > 0 ? lines : ['No saved conversations. /save NAME saves this one.']));
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
  print(...columns(rows), 'End a line with \\ to continue it on the next. Ctrl-C stops an answer.');
}
