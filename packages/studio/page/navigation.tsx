// The views and the conversations.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { address, useKnown } from './parts/hooks.ts';

const views = [
  ['chat', 'Chat'],
  ['approvals', 'Approvals'],
  ['runs', 'Runs'],
  ['tools', 'Tools'],
  ['cost', 'Cost'],
] as const;

export function Navigation({ view }: { view: string }): VNode {
  const { questions } = useKnown();
  return (
    <nav aria-label="Views">
      <p class="brand">Studio</p>
      <ul class="views">
        {views.map(([name, label]) => (
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
      <Conversations />
    </nav>
  );
}

function Conversations(): VNode {
  const { chats } = useKnown();
  const [words, setWords] = useState('');
  const found = [...chats.values()]
    .filter(({ info }) => info.title !== '' && info.title.toLowerCase().includes(words.toLowerCase()))
    .reverse();
  return (
    <section class="conversations" aria-label="Conversations">
      <input
        type="search"
        placeholder="Search conversations"
        aria-label="Search conversations"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <ul>
        {found.map(({ info }) => (
          <li key={info.id}>
            <a href={address('chat', info.id)}>
              {info.isRunning && <span class="running" title="at work" />}
              {info.title}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
