// Changed copies of what the page knows.
import type { ChatState, State } from './model.ts';

/** Unchanged if the chat was deleted. */
export function changeChat(state: State, chatId: string, change: (chat: ChatState) => ChatState): State {
  const chat = state.chats.get(chatId);
  return chat ? { ...state, chats: withEntry(state.chats, chatId, change(chat)) } : state;
}

export function withEntry<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key, value: Value): ReadonlyMap<Key, Value> {
  return new Map(map).set(key, value);
}

export function without<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key): ReadonlyMap<Key, Value> {
  const copy = new Map(map);
  copy.delete(key);
  return copy;
}
