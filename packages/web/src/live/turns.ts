// The turns of a conversation. Each turn starts with a message of the user.
import type { Message, PocketAgent } from 'pocket-agent';

export function countTurns(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === 'user').length;
}

/** The messages of the first `turns` turns. */
export function firstTurns(messages: readonly Message[], turns: number): readonly Message[] {
  const next = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))[turns];
  return next === undefined ? messages : messages.slice(0, next);
}

/** The questions of the user, one for each turn. */
export function questionsIn(messages: readonly Message[]): string[] {
  return messages.filter(({ role }) => role === 'user').map(userText);
}

export function beginsWith(questions: readonly string[], first: readonly string[]): boolean {
  return first.every((text, turn) => questions[turn] === text);
}

/** Removes all turns after the first `turns` turns. */
export function keepFirstTurns(agent: PocketAgent<unknown>, turns: number): void {
  const kept = firstTurns(agent.messages, turns);
  if (kept.length === agent.messages.length) return;
  agent.resetMessages();
  for (const message of kept) agent.addMessage(message);
}

function userText(message: Message): string {
  if (message.role !== 'user') return '';
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
