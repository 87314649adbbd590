// Collapsible JSON. Long lists and strings are cut; a button shows more.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';

const FIRST_ITEMS = 50;
const FIRST_CHARACTERS = 600;
/** Objects inside others are open at first if they are small. */
const FEW_ITEMS = 5;
const OPEN_DEPTH = 4;

export function JsonTree({ value }: { value: unknown }): VNode {
  const entries = entriesOf(value);
  if (!entries || entries.length === 0) return <Leaf value={value} />;
  return <JsonFields entries={entries} depth={0} />;
}

type Entries = [name: string, value: unknown][];

/** Undefined for values without parts. */
function entriesOf(value: unknown): Entries | undefined {
  return typeof value === 'object' && value !== null ? Object.entries(value) : undefined;
}

function Leaf({ value }: { value: unknown }): VNode {
  if (typeof value === 'string') return <JsonText text={value} />;
  return <span class="json-literal">{JSON.stringify(value) ?? '–'}</span>;
}

function JsonFields({ entries, depth }: { entries: Entries; depth: number }): VNode {
  const [count, setCount] = useState(FIRST_ITEMS);
  return (
    <ul class="plain json">
      {entries.slice(0, count).map(([name, value]) => (
        <li key={name}>
          <JsonField name={name} value={value} depth={depth} />
        </li>
      ))}
      {entries.length > count && (
        <li>
          <button type="button" class="quiet" onClick={() => setCount(count * 4)}>
            {entries.length - count} more
          </button>
        </li>
      )}
    </ul>
  );
}

function JsonField({ name, value, depth }: { name: string; value: unknown; depth: number }): VNode {
  const parts = entriesOf(value) ?? [];
  const [isOpen, setOpen] = useState(depth === 0 || (depth < OPEN_DEPTH && parts.length <= FEW_ITEMS));
  if (parts.length === 0)
    return (
      <div class="json-field">
        <span class="json-name">{name}</span> <Leaf value={value} />
      </div>
    );
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="json-name">{name}</span> {Array.isArray(value) ? `[${parts.length}]` : `{${parts.length}}`}
      </summary>
      {isOpen && <JsonFields entries={parts} depth={depth + 1} />}
    </details>
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
