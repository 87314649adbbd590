// Ctrl+K or ⌘K: goes to any view, agent, tool page or conversation by name.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { address, useKnown } from './parts/hooks.ts';

const SHOWN = 12;

export function Palette(): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState(0);
  const places = usePlaces();
  const found = places.filter(({ label }) => label.toLowerCase().includes(words.toLowerCase())).slice(0, SHOWN);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setWords('');
      setChosen(0);
      dialog.current?.showModal();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const go = (index: number) => {
    const place = found[index];
    if (!place) return;
    dialog.current?.close();
    location.hash = place.to;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    setChosen(Math.min(found.length - 1, Math.max(0, chosen + step)));
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Go to">
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          go(chosen);
        }}
      >
        <input
          aria-label="Go to"
          placeholder="Go to…"
          value={words}
          onKeyDown={onKeyDown}
          onInput={(event) => {
            setWords(event.currentTarget.value);
            setChosen(0);
          }}
        />
      </form>
      <ul class="plain">
        {found.map(({ label, to }, index) => (
          <li key={to}>
            <button
              type="button"
              class="quiet"
              aria-current={index === chosen ? 'true' : undefined}
              onClick={() => go(index)}
            >
              {label}
            </button>
          </li>
        ))}
      </ul>
    </dialog>
  );
}

function usePlaces(): { label: string; to: string }[] {
  const { agents, chats } = useKnown();
  const views = ['Chat', 'Approvals', 'Runs', 'Cost'];
  return [
    ...views.map((label) => ({ label, to: address(label.toLowerCase()) })),
    ...agents.map(({ name }) => ({ label: `Tools of ${name}`, to: address('tools', name) })),
    ...[...chats.values()]
      .reverse()
      .map(({ info }) => ({ label: info.title || `Conversation with ${info.agent}`, to: address('chat', info.id) })),
  ];
}
