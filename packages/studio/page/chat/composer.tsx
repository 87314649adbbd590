// The field for the next message.
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface ComposerProps {
  draft: string;
  onDraft(text: string): void;
  isRunning: boolean;
  isBusy: boolean;
  onSend(text: string): void;
  onStop(): void;
  /** The last message of the person, which the arrow up brings back. */
  lastText: string;
}

export function Composer({ draft, onDraft, isRunning, isBusy, onSend, onStop, lastText }: ComposerProps): VNode {
  const field = useRef<HTMLTextAreaElement>(null);
  const canSend = draft.trim() !== '' && !isRunning && !isBusy;
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && isRunning) onStop();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [isRunning, onStop]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowUp' && draft === '' && lastText !== '') onDraft(lastText);
    // Enter also ends the input of a character in Japanese or Chinese
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (canSend) onSend(draft);
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) onSend(draft);
      }}
    >
      <textarea
        ref={field}
        aria-label="Message"
        placeholder="Message… (Enter sends, Shift+Enter begins a line)"
        rows={Math.min(8, draft.split('\n').length + 1)}
        value={draft}
        onInput={(event) => onDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {isRunning ? (
        <button type="button" class="stop" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button type="submit" disabled={!canSend}>
          Send
        </button>
      )}
    </form>
  );
}
