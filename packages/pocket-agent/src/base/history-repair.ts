// Turns a foreign history into one that every provider accepts: each tool call has a unique id and is answered once,
// right after the message that made it, in the order of the calls.
import { type AssistantMessage, type Message, type ToolMessage, toolMessage } from './messages.ts';

type ToolPart = ToolMessage['content'][number];

interface Call {
  id: string;
  name: string;
  answer: ToolMessage | undefined;
}

/** Calls without an answer by their id in the history, which several calls may share; one list per message. */
type OpenCalls = Map<string, Call[][]>;

interface Turn {
  message: AssistantMessage;
  calls: Call[];
}

/**
 * Calls without an answer get one, answers without a call are left out, answers that come late or out of order move to
 * their call, and calls that share an id get separate ids.
 */
export function withEveryCallAnswered(messages: readonly Message[]): Message[] {
  if (isValid(messages)) return [...messages];
  const ids = new Set<string>();
  const open: OpenCalls = new Map();
  const items: (Message | Turn)[] = [];
  for (const message of messages) {
    if (message.role === 'assistant' && callsIn(message).length > 0) {
      items.push(turnOf(message, ids, open));
    } else if (message.role === 'tool') {
      const others = message.content.filter((part) => !takeAnswer(open, message, part));
      if (others.length > 0) items.push({ ...message, content: others });
    } else items.push(message);
  }
  return items.flatMap((item) => ('calls' in item ? [item.message, ...item.calls.map(answerTo)] : [item]));
}

/** Like `withEveryCallAnswered`, but the calls of the last message stay open. */
export function withOpenEnd(messages: readonly Message[]): Message[] {
  const last = messages.at(-1);
  if (!last || openCalls(last).length === 0) return withEveryCallAnswered(messages);
  return [...withEveryCallAnswered(messages.slice(0, -1)), last];
}

/** The calls in a message that the agent makes. */
export function openCalls(message: Message) {
  return message.role === 'assistant' ? callsIn(message) : [];
}

/** The number of messages before the first one with a call that is not answered yet. */
export function answeredLength(messages: readonly Message[]): number {
  let [open, length] = [0, 0];
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') open -= message.content.filter(({ type }) => type === 'tool-result').length;
    else if (open > 0) return length;
    else open = message.role === 'assistant' ? callsIn(message).length : 0;
    if (open <= 0) length = index + 1;
  }
  return length;
}

function isValid(messages: readonly Message[]): boolean {
  const ids = new Set<string>();
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      for (const part of message.content) {
        if (part.type === 'tool-result' && part.toolCallId !== open.shift()) return false;
      }
      continue;
    }
    if (open.length > 0) return false;
    if (message.role !== 'assistant') continue;
    open = callsIn(message).map(({ toolCallId }) => toolCallId);
    for (const id of open) if (ids.size === ids.add(id).size) return false;
  }
  return open.length === 0;
}

function callsIn({ content }: AssistantMessage) {
  return content.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? [part] : []));
}

function turnOf(message: AssistantMessage, ids: Set<string>, open: OpenCalls): Turn {
  const calls: Call[] = [];
  const byGivenId = new Map<string, Call[]>();
  const content = message.content.map((part) => {
    if (part.type !== 'tool-call' || part.providerExecuted) return part;
    const { toolCallId: givenId, toolName: name } = part;
    const id = ids.has(givenId) ? crypto.randomUUID() : givenId;
    ids.add(id);
    const call: Call = { id, name, answer: undefined };
    calls.push(call);
    pushTo(byGivenId, givenId, call);
    return id === givenId ? part : { ...part, toolCallId: id };
  });
  for (const [givenId, same] of byGivenId) pushTo(open, givenId, same);
  return { message: { ...message, content }, calls };
}

/** True if the part is a result. It answers the first open call of its id in the last message that has one. */
function takeAnswer(open: OpenCalls, message: ToolMessage, part: ToolPart): boolean {
  if (part.type !== 'tool-result') return false;
  const messages = open.get(part.toolCallId);
  const calls = messages?.at(-1);
  const call = calls?.shift();
  if (calls?.length === 0) messages?.pop();
  if (call) call.answer = { ...message, content: [{ ...part, toolCallId: call.id }] };
  return true;
}

function answerTo({ id, name, answer }: Call): ToolMessage {
  return answer ?? toolMessage(id, name, { type: 'error-text', value: 'No result of this call was recorded.' });
}

function pushTo<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
