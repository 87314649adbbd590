// Ctrl+K or ⌘K: goes to any view, agent, tool page or conversation by name.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ToolList } from '../src/wire/wire.ts';
import type { Connection } from './connection.ts';
import { address, useConnection, useKnown } from './parts/hooks.ts';

const SHOWN = 12;

export function Palette(): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState(0);
  const [tools, setTools] = useState<readonly Place[]>([]);
  const connection = useConnection();
  const { agents } = useKnown();
  const places = [...usePlaces(), ...tools];
  const found = places.filter(({ label }) => label.toLowerCase().includes(words.toLowerCase())).slice(0, SHOWN);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setWords('');
      setChosen(0);
      dialog.current?.showModal();
      const lists = agents.map(({ name }) => toolsOf(connection, name));
      // the view Tools says why they cannot be listed
      void Promise.all(lists).then(
        (found) => setTools(found.flat()),
        () => setTools([]),
      );
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [agents, connection]);
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

interface Place {
  label: string;
  to: string;
}

async function toolsOf(connection: Connection, agent: string): Promise<Place[]> {
  const { tools } = await connection.get<ToolList>(`/agents/${encodeURIComponent(agent)}/tools`);
  return tools.map(({ name }) => ({ label: `Tool ${name} of ${agent}`, to: address('tools', agent, name) }));
}

function usePlaces(): Place[] {
  const { agents, chats, hasDurableRuns, hasGateways } = useKnown();
  const views = [
    ...['Chat', 'Approvals', 'Runs', 'Cost'],
    ...(hasDurableRuns ? ['Durable'] : []),
    ...(hasGateways ? ['Gateways'] : []),
  ];
  return [
    ...views.map((label) => ({ label, to: address(label.toLowerCase()) })),
    ...agents.map(({ name }) => ({ label: `Tools of ${name}`, to: address('tools', name) })),
    ...[...chats.values()]
      .reverse()
      .map(({ info }) => ({ label: info.title || `Conversation with ${info.agent}`, to: address('chat', info.id) })),
  ];
}
