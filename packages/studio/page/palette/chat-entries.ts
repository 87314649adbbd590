// What the palette can do with the conversation on the page, and with which agents one can begin.
import { exposures, profiles } from '../chat/chat-header.tsx';
import { branch, deleteChat, lastMessage } from '../chat/requests.ts';
import type { Connection } from '../connection.ts';
import type { ChatState } from '../state/model.ts';
import type { Known } from '../state/store.ts';
import { type Entry, goTo } from './entry.ts';

interface ChatEntriesOptions {
  chat: ChatState;
  known: Known;
  connection: Connection;
  words: string;
}

export function chatEntries({ chat, known, connection, words }: ChatEntriesOptions): Entry[] {
  const { info, lastRunId } = chat;
  const { id, isRunning, isElsewhere } = info;
  const trace = lastRunId === undefined ? [] : [goTo('Trace of the last run', 'view', 'chat', id, lastRunId)];
  if (isElsewhere) return trace;
  const action = (label: string, act: () => unknown): Entry => ({ label, kind: 'action', act });
  const message = lastMessage(chat);
  const again = message && action('Try the last message again', () => branch(connection, info, message, message.text));
  const set = (label: string, settings: object) =>
    action(label, () => connection.post(`/chats/${id}/settings`, settings));
  const choices = (label: string, key: 'profile' | 'exposure', all: Readonly<Record<string, string>>) =>
    Object.entries(all)
      .filter(([name]) => name !== (info[key] ?? ''))
      .map(([name, text]) => set(`${label}: ${text}`, { [key]: name }));
  return [
    ...(isRunning ? [action('Stop the run', () => connection.post(`/chats/${id}/stop`, {}))] : []),
    ...(again && !isRunning ? [again] : []),
    ...trace,
    ...modelsFor(info.model, known, words).map((model) => set(`Model: ${model}`, { model })),
    ...choices('Profile', 'profile', profiles),
    ...choices('Exposure', 'exposure', exposures),
    {
      ...action('Delete this conversation', () => deleteChat(connection, id)),
      again: `Delete “${info.title}”? Enter deletes it for good.`,
    },
  ];
}

/** Those that the page knows, and the one that is typed after `model`. */
function modelsFor(current: string, { agents, chats }: Known, words: string): string[] {
  const typed = /^model:?\s+(\S+)$/i.exec(words.trim())?.[1];
  const known = [...agents.map(({ model }) => model), ...[...chats.values()].map(({ info }) => info.model)];
  const names = new Set([...known, ...(typed === undefined ? [] : [typed])]);
  return [...names].filter((name) => name !== '' && name !== current);
}

export function newChats({ agents }: Known): Entry[] {
  return agents.map(({ name }) => goTo(`New conversation with ${name}`, 'action', 'chat', '', name));
}
