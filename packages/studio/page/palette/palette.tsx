// Ctrl+K or ⌘K: goes anywhere, and does what the buttons of the page do, by name.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../parts/hooks.ts';
import { useEntries } from './entries.ts';
import type { Entry } from './entry.ts';

const SHOWN = 50;

/** `route`: the parts of the address, which decide what can be done here. */
export function Palette({ route }: { route: readonly string[] }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [words, setWords] = useState('');
  /** `isAsked`: it waits to be chosen once more. */
  const [{ chosen, isAsked }, setChosen] = useState({ chosen: 0, isAsked: false });
  const { error, act } = useAction();
  const choose = (index: number) => setChosen({ chosen: index, isAsked: false });
  const found = useEntries({ route, isOpen, words }).filter(matches(words)).slice(0, SHOWN);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setWords('');
      choose(0);
      setOpen(true);
      dialog.current?.showModal();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' }), [chosen]);
  const run = (entry: Entry | undefined, index: number) => {
    if (!entry) return;
    if (entry.again !== undefined && !(isAsked && index === chosen)) return setChosen({ chosen: index, isAsked: true });
    act(async () => {
      await entry.act();
      dialog.current?.close();
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') event.stopPropagation(); // it would stop the run
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    choose(Math.min(found.length - 1, Math.max(0, chosen + step)));
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Commands" onClose={() => setOpen(false)} onKeyDown={onKeyDown}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          run(found[chosen], chosen);
        }}
      >
        <input
          role="combobox"
          aria-label="Go to a place, or do something"
          aria-expanded="true"
          aria-controls="palette-entries"
          aria-activedescendant={found[chosen] && `palette-${chosen}`}
          autocomplete="off"
          placeholder="Go to a place, or do something…"
          value={words}
          onInput={(event) => {
            setWords(event.currentTarget.value);
            choose(0);
          }}
        />
      </form>
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      <div ref={list} id="palette-entries" class="entries" role="listbox" aria-label="Found">
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field has the focus
          <div
            key={`${entry.kind} ${entry.label}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => run(entry, index)}
          >
            {isAsked && index === chosen ? <span class="bad">{entry.again}</span> : entry.label}{' '}
            <span class="soft">{entry.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="note">Nothing here has this name.</p>}
    </dialog>
  );
}

/** All words, in any order. */
function matches(words: string): (entry: Entry) => boolean {
  const wanted = words.toLowerCase().split(/\s+/);
  return ({ label }) => wanted.every((word) => label.toLowerCase().includes(word));
}
