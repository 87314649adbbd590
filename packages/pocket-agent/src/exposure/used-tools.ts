// Which deferred tools a conversation has found or called, read from its history: a resumed conversation has them again.
import { type Message, outputText } from '../base/messages.ts';
import { type CompactedHistory, resultsIn } from '../compaction/history-view.ts';

/** A line of a result of `find_tools`. Only names at the start of a line are tools that were found. */
export function foundLine(name: string, text: string): string {
  return `- ${name} ${text.replace(/\s+/g, ' ').trim()}`;
}

const FOUND = /^- (\S+) /gm;

export interface UsedTool {
  name: string;
  calls: number;
  /** The last search found it. */
  isNew: boolean;
}

interface Conversation {
  messages: readonly Message[];
  /** The compacted part of it. */
  compacted: CompactedHistory | undefined;
}

/** In the order of their first use. Uses that were compacted do not count. */
export function usedTools({ messages, compacted }: Conversation, search: string): UsedTool[] {
  const { from = 0, resultsFrom = 0 } = compacted ?? {};
  const used = new Map<string, UsedTool>();
  const use = (name: string, { calls, isNew }: Omit<UsedTool, 'name'>) => {
    const known = used.get(name);
    used.set(name, { name, calls: (known?.calls ?? 0) + calls, isNew: isNew || (known?.isNew ?? false) });
  };
  for (const [index, message] of messages.entries()) {
    if (index < from) continue;
    for (const name of calledIn(message)) use(name, { calls: 1, isNew: false });
    if (index < resultsFrom) continue;
    const found = foundIn(message, search);
    if (found.length > 0) for (const each of used.values()) each.isNew = false;
    for (const name of found) use(name, { calls: 0, isNew: true });
  }
  return [...used.values()];
}

function calledIn({ role, content }: Message): string[] {
  if (role !== 'assistant') return [];
  return content.flatMap((part) => (part.type === 'tool-call' ? [part.toolName] : []));
}

/** Cache by message: messages are frozen. */
const read = new WeakMap<Message, readonly string[]>();

function foundIn(message: Message, search: string): readonly string[] {
  if (message.role !== 'tool') return [];
  let names = read.get(message);
  if (!names) {
    const results = resultsIn(message).filter(({ toolName }) => toolName === search);
    names = results.flatMap(({ output }) => [...outputText(output).matchAll(FOUND)].map(([, name = '']) => name));
    read.set(message, names);
  }
  return names;
}
