// The messages, tool calls and questions of a conversation.
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { FormCard } from '../approvals/form-card.tsx';
import { Guarded } from '../parts/guarded.tsx';
import { useKnown } from '../parts/hooks.ts';
import type { ChatState } from '../state/model.ts';
import { approvals, callKey, formsOf } from '../state/questions.ts';
import { toolsOf } from '../state/trace.ts';
import { ItemView } from './item-view.tsx';
import { lastMessage, type UserItem } from './requests.ts';

/** Earlier items are behind a button. */
const SHOWN_ITEMS = 200;
/** Text that arrives is followed if the end was in sight, or nearly. */
const NEAR_END_PX = 40;

interface ItemsProps {
  chat: ChatState;
  /** Undefined if the conversation takes place elsewhere. */
  onEdit: ((item: UserItem, text: string) => void) | undefined;
}

export function Items({ chat, onEdit }: ItemsProps): VNode {
  const { runs, questions, answers } = useKnown();
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [chat.items, questions]);
  const [count, setCount] = useState(SHOWN_ITEMS);
  const tools = useMemo(() => toolsOf(runs.values(), chat.info.id), [runs, chat.info.id]);
  const asked = approvals(questions);
  const isAsked = [...questions.values()].some(({ chatId }) => chatId === chat.info.id);
  const earlier = Math.max(0, chat.items.length - count);
  const last = chat.items.at(-1);
  const asker = lastMessage(chat);
  const finished = last?.kind === 'answer' && !last.isStreaming ? last.text : '';
  return (
    <>
      <div
        class="items"
        ref={list}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
        }}
      >
        {earlier > 0 && (
          <button type="button" class="quiet" onClick={() => setCount(count * 2)}>
            {earlier} earlier
          </button>
        )}
        {chat.items.slice(earlier).map((item) => {
          const call = item.kind === 'tool' ? callKey(item.runId, item.toolCallId) : '';
          return (
            <Guarded key={item.key} what="This message">
              <ItemView
                item={item}
                tool={tools.get(call)}
                question={asked.get(call)}
                answer={answers.get(call)?.text}
                onEdit={onEdit}
                onRetry={item === last && asker && onEdit ? () => onEdit(asker, asker.text) : undefined}
              />
            </Guarded>
          );
        })}
        {formsOf(questions, chat.info.id).map((form) => (
          <FormCard key={form.id} question={form} />
        ))}
        {chat.info.isRunning && <p class="working">{isAsked ? 'Waiting for your answer.' : 'Working…'}</p>}
      </div>
      <p class="hidden" aria-live="polite">
        {finished}
      </p>
    </>
  );
}
