// One message, tool call or note of a conversation.
import type { VNode } from 'preact';
import { memo } from 'preact/compat';
import { useState } from 'preact/hooks';
import type { ApprovalQuestion } from '../../src/wire/wire.ts';
import { Markdown } from '../parts/markdown.tsx';
import type { Item, ToolState } from '../state/model.ts';
import { FileList } from './file-list.tsx';
import type { UserItem } from './requests.ts';
import { ToolCallView } from './tool-call-view.tsx';

interface ItemProps {
  item: Item;
  /** The state of the call, if the item is a tool call. */
  tool: ToolState | undefined;
  /** The approval that a tool call waits for, or how it was answered. */
  question: ApprovalQuestion | undefined;
  answer: string | undefined;
  /** Undefined if the conversation takes place elsewhere. */
  onEdit: ((item: UserItem, text: string) => void) | undefined;
  /** For a problem that ended the last run. */
  onRetry: (() => void) | undefined;
}

export const ItemView = memo(
  ({ item, tool, question, answer, onEdit, onRetry }: ItemProps): VNode | null => {
    switch (item.kind) {
      case 'user':
        return <UserMessage item={item} onEdit={onEdit} />;
      case 'answer':
        return (
          <article class="answer" aria-label="Answer">
            {item.reasoning && (
              <details class="reasoning">
                <summary>Reasoning</summary>
                <Markdown text={item.reasoning} />
              </details>
            )}
            <Markdown text={item.text} />
          </article>
        );
      case 'tool':
        return tool ? <ToolCallView tool={tool} question={question} answer={answer} /> : null;
      case 'problem':
        return (
          <div class="problem" role="alert">
            {item.text}
            {onRetry && (
              <button type="button" class="quiet" onClick={onRetry}>
                Try again
              </button>
            )}
          </div>
        );
      case 'note':
        return <p class="note">{item.text}</p>;
    }
  },
  // onEdit and onRetry do the same whenever they were made
  (before, after) =>
    before.item === after.item &&
    before.tool === after.tool &&
    before.question === after.question &&
    before.answer === after.answer &&
    Boolean(before.onRetry) === Boolean(after.onRetry),
);

function UserMessage({ item, onEdit }: { item: UserItem; onEdit: ItemProps['onEdit'] }): VNode {
  const [draft, setDraft] = useState<string>();
  if (draft === undefined)
    return (
      <article class="user" aria-label="Your message">
        <FileList files={item.files} />
        <p>{item.text}</p>
        {onEdit && (
          <span class="actions">
            <button type="button" class="quiet" onClick={() => setDraft(item.text)}>
              Edit
            </button>
            <button type="button" class="quiet" onClick={() => onEdit(item, item.text)}>
              Try again
            </button>
          </span>
        )}
      </article>
    );
  return (
    <form
      class="user"
      onSubmit={(event) => {
        event.preventDefault();
        onEdit?.(item, draft);
      }}
    >
      <textarea aria-label="Changed message" value={draft} onInput={(event) => setDraft(event.currentTarget.value)} />
      <span class="actions">
        <button type="button" class="quiet" onClick={() => setDraft(undefined)}>
          Cancel
        </button>
        <button type="submit">Send as a branch</button>
      </span>
    </form>
  );
}
