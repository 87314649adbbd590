// Turns a foreign history into one that every provider accepts: each tool call has a unique id and is answered once,
// right after the message that made it, in the order of the calls.
import { type AssistantMessage, type Message, type ToolMessage, toolMessage } from './messages.ts';

type ToolPart = ToolMessage['content'][number];

interface Call {
  /** As the history has it, where several calls may share it. */
  givenId: string;
  id: string;
  name: string;
  answer: ToolMessage | undefined;
}

/** An assistant message with calls, and what answers them. */
interface Turn {
  message: AssistantMessage;
  calls: Call[];
}

/**
 * Calls without an answer get one, answers without a call are left out, answers that come late or out of order move to
 * their call, and calls that share an id get separate ids.
 */
export function withEveryCallAnswered(messages: readonly Message[]): Message[] {
  if (isWhole(messages)) return [...messages];
  const ids = new Set<string>();
  const turns: Turn[] = [];
  const items: (Message | Turn)[] = [];
  for (const message of messages) {
    if (message.role === 'assistant' && callsIn(message).length > 0) {
      const turn = turnOf(message, ids);
      turns.push(turn);
      items.push(turn);
    } else if (message.role === 'tool') {
      const others = message.content.filter((part) => !takesAnswer(turns, message, part));
      if (others.length > 0) items.push({ ...message, content: others });
    } else items.push(message);
  }
  return items.flatMap((item) => ('calls' in item ? [item.message, ...item.calls.map(answerTo)] : [item]));
}

function isWhole(messages: readonly Message[]): boolean {
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

function turnOf(message: AssistantMessage, ids: Set<string>): Turn {
  const calls: Call[] = [];
  const content = message.content.map((part) => {
    if (part.type !== 'tool-call' || part.providerExecuted) return part;
    const { toolCallId: givenId, toolName: name } = part;
    const id = ids.has(givenId) ? crypto.randomUUID() : givenId;
    ids.add(id);
    calls.push({ givenId, id, name, answer: undefined });
    return id === givenId ? part : { ...part, toolCallId: id };
  });
  return { message: { ...message, content }, calls };
}

/** Whether the part is a result: kept for the last call of that id that has none yet, or left out. */
function takesAnswer(turns: readonly Turn[], message: ToolMessage, part: ToolPart): boolean {
  if (part.type !== 'tool-result') return false;
  const isOpen = ({ givenId, answer }: Call) => givenId === part.toolCallId && !answer;
  const call = turns.findLast(({ calls }) => calls.some(isOpen))?.calls.find(isOpen);
  if (call) call.answer = { ...message, content: [{ ...part, toolCallId: call.id }] };
  return true;
}

function answerTo({ id, name, answer }: Call): ToolMessage {
  return answer ?? toolMessage(id, name, { type: 'error-text', value: 'No result of this call was recorded.' });
}
