// What the palette offers: the places of the page, and what can be done where the person is.
import { useEffect, useState } from 'preact/hooks';
import type { ToolList } from '../../src/wire/wire.ts';
import { useConnection, useKnown } from '../parts/hooks.ts';
import { chooseTheme, chosenTheme, type Theme } from '../parts/theme.ts';
import type { Known } from '../state/store.ts';
import { rootRuns } from '../state/trace.ts';
import { chatEntries, newChats } from './chat-entries.ts';
import { type Entry, goTo } from './entry.ts';

interface EntriesOptions {
  /** The parts of the address. */
  route: readonly string[];
  isOpen: boolean;
  /** What is typed: it may be the name of a model. */
  words: string;
}

export function useEntries({ route, isOpen, words }: EntriesOptions): Entry[] {
  const known = useKnown();
  const connection = useConnection();
  const tools = useTools(isOpen);
  const [view, place] = route;
  const chat = view === 'chat' && place !== undefined ? known.chats.get(place) : undefined;
  if (!isOpen) return [];
  return [
    ...views(known),
    ...(chat ? chatEntries({ chat, known, connection, words }) : []),
    ...newChats(known),
    ...comparisons(known, view === 'runs' ? place : undefined),
    ...themes(),
    ...conversations(known),
    ...tools,
  ];
}

function views({ agents, hasDurableRuns, hasGateways, questions }: Known): Entry[] {
  const names = [
    ...['Chat', 'Approvals', 'Runs', 'Cost'],
    ...(hasDurableRuns ? ['Durable'] : []),
    ...(hasGateways ? ['Gateways'] : []),
  ];
  const waiting = [...questions.values()].map((asked) =>
    goTo(
      asked.kind === 'approval' ? `Approve or deny ${asked.tool}` : `Answer ${asked.server}`,
      'waiting',
      'approvals',
    ),
  );
  return [
    ...waiting,
    ...names.map((name) => goTo(name, 'view', name.toLowerCase())),
    ...agents.map(({ name }) => goTo(`Tools of ${name}`, 'view', 'tools', name)),
  ];
}

function conversations({ chats }: Known): Entry[] {
  return [...chats.values()]
    .reverse()
    .map(({ info: { id, title, agent } }) => goTo(title || `Conversation with ${agent}`, 'conversation', 'chat', id));
}

/** The last two runs, or the run on the page beside the one before it. */
function comparisons(known: Known, runId: string | undefined): Entry[] {
  const runs = rootRuns(known);
  const at = runId === undefined ? 0 : runs.findIndex(({ id }) => id === runId);
  const [run, before] = at < 0 ? [] : runs.slice(at, at + 2);
  if (!run || !before) return [];
  const label = runId === undefined ? 'Compare the last two runs' : 'Compare this run with the one before';
  return [goTo(label, 'action', 'runs', 'compare', `${before.id} ${run.id}`)];
}

function themes(): Entry[] {
  const choices: [Theme | undefined, string][] = [
    ['light', 'light'],
    ['dark', 'dark'],
    [undefined, 'as the system'],
  ];
  return choices
    .filter(([theme]) => theme !== chosenTheme())
    .map(([theme, name]) => ({ label: `Theme: ${name}`, kind: 'action', act: () => chooseTheme(theme) }));
}

/** The tools of all agents, asked when the palette is opened. */
function useTools(isOpen: boolean): Entry[] {
  const { agents } = useKnown();
  const connection = useConnection();
  const [tools, setTools] = useState<Entry[]>([]);
  useEffect(() => {
    if (!isOpen) return;
    const lists = agents.map(async ({ name: agent }) => {
      const list = await connection.get<ToolList>(`/agents/${encodeURIComponent(agent)}/tools`);
      return list.tools.map(({ name }) => goTo(`Tool ${name} of ${agent}`, 'tool', 'tools', agent, name));
    });
    // the view Tools says why those of an agent cannot be listed
    void Promise.allSettled(lists).then((all) =>
      setTools(all.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))),
    );
  }, [agents, connection, isOpen]);
  return tools;
}
