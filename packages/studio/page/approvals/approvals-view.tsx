// All questions that wait, of all conversations.
import type { VNode } from 'preact';
import type { Question } from '../../src/wire/wire.ts';
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
            No approvals are waiting. Agents ask here before calls that need approval by <code>access.confirm</code>.
          </span>
        </p>
      )}
      <ul class="plain inbox">
        {[...questions.values()].map((question) => (
          <li key={question.id}>
            <p class="note">
              <Origin question={question} title={chats.get(question.chatId)?.info.title} />
            </p>
            {question.kind === 'form' ? <FormCard question={question} /> : <QuestionCard question={question} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Origin({ question, title }: { question: Question; title: string | undefined }): VNode {
  const { gateway, program, runId, chatId } = question;
  if (gateway !== undefined) return <a href={address('gateways')}>Gateway {gateway}</a>;
  const at = program === undefined ? '' : ` · ${program}`;
  if (runId !== undefined)
    return (
      <a href={address('durable', runId)}>
        Durable run {runId}
        {at}
      </a>
    );
  return (
    <a href={address('chat', chatId)}>
      {title || 'Conversation'}
      {at}
    </a>
  );
}
