// Collapsible JSON. Long lists and strings are cut; a button shows more.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';

const FIRST_ITEMS = 50;
const FIRST_CHARACTERS = 600;

export function JsonTree({ value, depth = 0 }: { value: unknown; depth?: number }): VNode {
  if (typeof value === 'string') return <JsonText text={value} />;
  if (typeof value !== 'object' || value === null)
    return <span class="json-literal">{JSON.stringify(value) ?? '–'}</span>;
  const entries = Object.entries(value);
  const brackets = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) return <span class="json-literal">{brackets.join('')}</span>;
  if (depth === 0 && entries.length <= FIRST_ITEMS) return <JsonFields entries={entries} depth={depth} />;
  return (
    <JsonEntries entries={entries} isOpen={depth < 2} depth={depth} label={brackets.join(` ${entries.length} `)} />
  );
}

interface Entries {
  entries: [string, unknown][];
  isOpen: boolean;
  depth: number;
  label: string;
}

function JsonEntries({ entries, isOpen: isOpenAtFirst, depth, label }: Entries): VNode {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const [count, setCount] = useState(FIRST_ITEMS);
  return (
    <details class="json" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {isOpen && <JsonFields entries={entries.slice(0, count)} depth={depth} />}
      {isOpen && entries.length > count && (
        <button type="button" class="quiet" onClick={() => setCount(count * 4)}>
          {entries.length - count} more
        </button>
      )}
    </details>
  );
}

function JsonFields({ entries, depth }: Pick<Entries, 'entries' | 'depth'>): VNode {
  return (
    <dl class="json">
      {entries.map(([key, item]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>
            <JsonTree value={item} depth={depth + 1} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function JsonText({ text }: { text: string }): VNode {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > FIRST_CHARACTERS;
  return (
    <span class="json-text">
      {isCut ? text.slice(0, FIRST_CHARACTERS) : text}
      {isCut && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          {text.length - FIRST_CHARACTERS} more characters
        </button>
      )}
    </span>
  );
}
