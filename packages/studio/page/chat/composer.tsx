// The field for the next message.
import type { RefObject, VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { SentFile } from '../../src/wire/wire.ts';
import { useAction } from '../parts/hooks.ts';
import { FileList } from './file-list.tsx';
import { readFiles } from './files.ts';

interface ComposerProps {
  field: RefObject<HTMLTextAreaElement | null>;
  draft: string;
  onDraft(text: string): void;
  files: readonly SentFile[];
  onFiles(files: readonly SentFile[]): void;
  isRunning: boolean;
  isBusy: boolean;
  onSend(text: string, files: readonly SentFile[]): void;
  onStop(): void;
  /** The last message of the person, which the arrow up brings back. */
  lastText: string;
}

export function Composer(props: ComposerProps): VNode {
  const { field, draft, onDraft, files, onFiles, isRunning, isBusy, onSend, onStop, lastText } = props;
  const picker = useRef<HTMLInputElement>(null);
  const { error, act } = useAction();
  const canSend = (draft.trim() !== '' || files.length > 0) && !isRunning && !isBusy;
  const add = (given: globalThis.FileList | null | undefined) => {
    if (given && given.length > 0) act(async () => onFiles([...files, ...(await readFiles(given))]));
  };
  useEffect(() => field.current?.focus(), [field]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      if (isRunning) onStop();
      else field.current?.blur(); // now j and k move in lists
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [field, isRunning, onStop]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowUp' && draft === '' && lastText !== '') onDraft(lastText);
    // Enter also ends the input of a character in Japanese or Chinese
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (canSend) onSend(draft, files);
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) onSend(draft, files);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        add(event.dataTransfer?.files);
      }}
    >
      <FileList files={files} onRemove={(file) => onFiles(files.filter((each) => each !== file))} />
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      <div class="composer-box">
        <textarea
          ref={field}
          aria-label="Message"
          placeholder="Message…"
          rows={Math.min(8, draft.split('\n').length)}
          value={draft}
          onInput={(event) => onDraft(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => add(event.clipboardData?.files)}
        />
        <div class="composer-bar">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            aria-label="Files"
            onChange={(event) => {
              add(event.currentTarget.files);
              event.currentTarget.value = '';
            }}
          />
          <button
            type="button"
            class="quiet add-files"
            aria-label="Add files"
            title="Add files"
            onClick={() => picker.current?.click()}
          >
            +
          </button>
          <span class="keys">
            <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> begins a line, <kbd>Ctrl</kbd> <kbd>K</kbd> goes
            anywhere
          </span>
          {isRunning ? (
            <button type="button" class="stop" onClick={onStop}>
              Stop
            </button>
          ) : (
            <button type="submit" disabled={!canSend}>
              Send
            </button>
          )}
        </div>
      </div>
    </form>
  );
}
