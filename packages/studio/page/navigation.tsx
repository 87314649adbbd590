// The views and the conversations.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { SavedChat } from '../src/wire/wire.ts';
import { address, useAction, useConnection, useKnown } from './parts/hooks.ts';

const views = [
  ['chat', 'Chat'],
  ['approvals', 'Approvals'],
  ['runs', 'Runs'],
  ['tools', 'Tools'],
  ['cost', 'Cost'],
] as const;

export function Navigation({ view, place }: { view: string; place: string | undefined }): VNode {
  const { questions, hasDurableRuns, hasGateways } = useKnown();
  const shown = [
    ...views,
    ...(hasDurableRuns ? [['durable', 'Durable'] as const] : []),
    ...(hasGateways ? [['gateways', 'Gateways'] as const] : []),
  ];
  return (
    <nav aria-label="Views">
      <p class="brand">Studio</p>
      <ul class="views">
        {shown.map(([name, label]) => (
          <li key={name}>
            <a href={address(name)} aria-current={(view || 'chat') === name ? 'page' : undefined}>
              {label}
              {name === 'approvals' && questions.size > 0 && (
                <span class="count">
                  {questions.size}
                  <span class="hidden"> waiting</span>
                </span>
              )}
            </a>
          </li>
        ))}
      </ul>
      <Conversations shown={(view || 'chat') === 'chat' ? place : undefined} />
    </nav>
  );
}

/** `shown`: the id of the conversation that the page shows. */
export function Conversations({ shown }: { shown?: string | undefined }): VNode | null {
  const { chats } = useKnown();
  const [words, setWords] = useState('');
  const found = [...chats.values()]
    .filter(({ info }) => info.title !== '' && info.title.toLowerCase().includes(words.toLowerCase()))
    .reverse();
  const { saved, error } = useSaved(words, chats.size);
  if (words === '' && found.length === 0 && saved.length === 0 && !error) return null;
  return (
    <section class="conversations" aria-label="Conversations">
      <input
        type="search"
        placeholder="Search conversations"
        aria-label="Search conversations"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      {error && <p class="problem">{error}</p>}
      <ul data-list>
        {found.map(({ info }) => (
          <li key={info.id}>
            <a data-item href={address('chat', info.id)} aria-current={info.id === shown ? 'page' : undefined}>
              {info.isRunning && <span class="running" title="at work" />}
              <span class="cut" title={info.title}>
                {info.title}
              </span>
            </a>
          </li>
        ))}
        {saved.map(
          ({ id, title }) =>
            !chats.has(id) && (
              <li key={id}>
                <a data-item href={address('chat', id)}>
                  <span class="cut" title={title}>
                    {title || 'Conversation'}
                  </span>
                </a>
              </li>
            ),
        )}
      </ul>
    </section>
  );
}

/** Typing is over when it has paused for this long. */
const PAUSE_MS = 200;

/** Conversations in the database, asked again when others are opened or closed. */
function useSaved(words: string, open: number): { saved: readonly SavedChat[]; error: string } {
  const connection = useConnection();
  const { connection: state } = useKnown();
  const [saved, setSaved] = useState<readonly SavedChat[]>([]);
  const { error, act } = useAction();
  useEffect(() => {
    if (state !== 'live') return;
    let isOld = false;
    const ask = () =>
      act(async () => {
        const found = await connection.get<SavedChat[]>(`/saved?words=${encodeURIComponent(words)}`);
        if (!isOld) setSaved(found);
      });
    const timer = setTimeout(ask, words === '' ? 0 : PAUSE_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [act, connection, state, words, open]);
  return { saved, error };
}
