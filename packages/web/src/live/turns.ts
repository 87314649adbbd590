// The turns of a conversation: each begins with a question of the user.
import type { Message, PocketAgent } from 'pocket-agent';

export function turnsIn(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === 'user').length;
}

/** The messages of the first turns. */
export function firstTurns(messages: readonly Message[], turns: number): readonly Message[] {
  const next = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))[turns];
  return next === undefined ? messages : messages.slice(0, next);
}

/** Whether the page shows the saved turns before the one that it repeats. */
export function showsTurns(messages: readonly Message[], before: readonly string[]): boolean {
  const turns = messages.filter(({ role }) => role === 'user').map(userText);
  return before.every((text, turn) => turns[turn] === text);
}

/** Removes the turns after the first ones. */
export function removeLaterTurns(agent: PocketAgent<unknown>, turns: number): void {
  const kept = firstTurns(agent.messages, turns);
  if (kept.length === agent.messages.length) return;
  agent.resetMessages();
  for (const message of kept) agent.addMessage(message);
}

function userText(message: Message): string {
  if (message.role !== 'user') return '';
  return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
