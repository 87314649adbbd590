// A conversation of this program that the studio only watches, such as one of a bot.
import type { AgentEvent, ApprovalAnswer, ApprovalRequest, ModelCallReport } from 'pocket-agent';
import type { ForeignChats } from './foreign-chats.ts';
import type { Journal } from './journal.ts';
import type { ModelCalls } from './model-calls.ts';
import type { Questions } from './questions.ts';

/** Longer titles are cut. */
const TITLE_LENGTH = 80;

/** A conversation between this program and its users. */
export interface WatchedConversation {
  /** The same for all its runs. */
  id: string;
  /** The name of its agent. */
  agent: string;
  /** Default: the beginning of its first message. */
  title?: string;
}

/** For the options of the runs of a conversation. */
export interface Watcher {
  onEvent(event: AgentEvent): void;
  /** Keeps the requests to models, to show them as they were sent. */
  onModelCall(call: ModelCallReport): void;
  /** Asks on the page. Resolves when it is answered there, or when the signal of the request aborts. */
  approve(request: ApprovalRequest): Promise<ApprovalAnswer>;
}

interface Parts {
  chats: ForeignChats;
  journal: Journal;
  questions: Questions;
  modelCalls: ModelCalls;
}

export function watch(conversation: WatchedConversation, { chats, journal, questions, modelCalls }: Parts): Watcher {
  const { id, agent, title = '' } = conversation;
  const known = () => chats.get(id) ?? { id, agent, title, model: '', createdAt: Date.now(), isRunning: false };
  return {
    onEvent(event) {
      const { type, data, meta } = event;
      if (!meta.isSubAgent && type === 'run_started') {
        const chat = known();
        chats.show({ ...chat, title: chat.title || data.input.slice(0, TITLE_LENGTH), isRunning: true });
      }
      journal.add({ type: 'event', chatId: id, event });
      if (!meta.isSubAgent && (type === 'run_finished' || type === 'run_failed'))
        chats.show({ ...known(), isRunning: false });
    },
    onModelCall: (report) => journal.add({ type: 'model_call', call: modelCalls.keep(id, report) }),
    approve: (request) => questions.approve(id, request),
  };
}
