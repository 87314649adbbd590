// All questions that wait, of all conversations.
import type { VNode } from 'preact';
import type { Question } from '../../src/wire/wire.ts';
import { address, useKnown } from '../parts/hooks.ts';
import { FormCard } from './form-card.tsx';
import { QuestionCard } from './question-card.tsx';

const example = `"access": { "confirm": "destructive" }`;

export function ApprovalsView(): VNode {
  const { questions, chats } = useKnown();
  return (
    <section class="page">
      <h1>Approvals</h1>
      {questions.size === 0 && (
        <div class="empty">
          <p>No approvals are waiting.</p>
          <p>
            An agent asks here before each call that <code>access.confirm</code> selects. Put this in its file, or start
            the studio with <code>--confirm destructive</code>:
          </p>
          <pre>{example}</pre>
        </div>
      )}
      <ul class="plain inbox" data-list>
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
  const { gateway, program, durableRun, chatId } = question;
  if (gateway !== undefined) return <a href={address('gateways')}>Gateway {gateway}</a>;
  const at = program === undefined ? '' : ` · ${program}`;
  if (durableRun !== undefined)
    return (
      <a href={address('durable', durableRun)}>
        Durable run {durableRun}
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
