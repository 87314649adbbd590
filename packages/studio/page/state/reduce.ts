// From lines of the stream to what the page knows.
import type { ChatInfo, Line, Question } from '../../src/wire/wire.ts';
import { changeChat, withEntry, without } from './change.ts';
import { withEvent, withModelCall } from './events.ts';
import { withHistory } from './history.ts';
import { type ChatState, emptyState, type State } from './model.ts';
import { askedCall } from './questions.ts';

export function reduce(state: State, line: Line): State {
  switch (line.type) {
    case 'snapshot':
      return withSnapshot(line.isReset ? emptyState : state, line);
    case 'chat':
      return withChat(state, line.chat);
    case 'chat_closed':
      return { ...state, chats: without(state.chats, line.chatId) };
    case 'history':
      return changeChat(state, line.chatId, (chat) => withHistory(chat, line.messages));
    case 'event':
      return withEvent(state, line.chatId, line.event);
    case 'question':
      return { ...state, questions: withEntry(state.questions, line.question.id, line.question) };
    case 'question_closed':
      return withAnswer(state, line);
    case 'model_call':
      return withModelCall(state, line.call);
    case 'durable_runs':
      return { ...state, hasDurableRuns: true };
    case 'problem':
      return changeChat(state, line.chatId, (chat) => ({
        ...chat,
        items: [...chat.items, { kind: 'problem', key: `problem ${line.seq}`, text: line.text }],
      }));
  }
}

function withSnapshot(
  state: State,
  { agents, chats, questions, hasDurableRuns, hasGateways, hasRouters }: Extract<Line, { type: 'snapshot' }>,
): State {
  const open = new Set(chats.map(({ id }) => id));
  const kept = new Map([...state.chats].filter(([id]) => open.has(id)));
  const waiting = new Map<string, Question>(questions.map((question) => [question.id, question]));
  return chats.reduce(withChat, {
    ...state,
    agents,
    hasDurableRuns,
    hasGateways,
    hasRouters,
    chats: kept,
    questions: waiting,
  });
}

function withChat(state: State, info: ChatInfo): State {
  const known: ChatState = state.chats.get(info.id) ?? { info, items: [], messageCount: 0 };
  return { ...state, chats: withEntry(state.chats, info.id, { ...known, info }) };
}

function withAnswer(
  state: State,
  { questionId, closedAt, text = 'no answer was needed any more' }: Extract<Line, { type: 'question_closed' }>,
): State {
  const question = state.questions.get(questionId);
  const questions = without(state.questions, questionId);
  if (question?.kind !== 'approval') return { ...state, questions };
  const given = { text, askedAt: question.askedAt, closedAt };
  return { ...state, questions, answers: withEntry(state.answers, askedCall(question), given) };
}
