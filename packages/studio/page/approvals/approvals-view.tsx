// All questions that wait, of all conversations.
import type { VNode } from 'preact';
import { address, useKnown } from '../parts/hooks.ts';
import { FormCard } from './form-card.tsx';
import { QuestionCard } from './question-card.tsx';

export function ApprovalsView(): VNode {
  const { questions, chats } = useKnown();
  return (
    <section class="page">
      <h1>Approvals</h1>
      {questions.size === 0 && (
        <p class="empty">
          <span>
            Nothing waits for you. Agents ask here before calls that their <code>access.confirm</code> names.
          </span>
        </p>
      )}
      <ul class="plain">
        {[...questions.values()].map((question) => (
          <li key={question.id}>
            <p>
              {question.runId === undefined ? (
                <a href={address('chat', question.chatId)}>
                  {chats.get(question.chatId)?.info.title ?? 'Conversation'}
                </a>
              ) : (
                <a href={address('durable', question.runId)}>Durable run {question.runId}</a>
              )}
            </p>
            {question.kind === 'form' ? <FormCard question={question} /> : <QuestionCard question={question} />}
          </li>
        ))}
      </ul>
    </section>
  );
}
