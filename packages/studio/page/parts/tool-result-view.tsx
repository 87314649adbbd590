// The result of a tool as the model reads it: text, JSON that unfolds, or an image.
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ResultPart, ToolState } from '../state/model.ts';
import { JsonText, JsonTree } from './json-tree.tsx';
import { Wide } from './wide.tsx';

export function ToolResultView({ tool: { result } }: { tool: ToolState }): VNode | null {
  if (!result) return null;
  return (
    <>
      <h4>Result</h4>
      {result.map((part, index) => (
        <Part key={index} part={part} />
      ))}
    </>
  );
}

function Part({ part }: { part: ResultPart }): VNode {
  const value = useMemo(() => (part.type === 'text' ? parsed(part.text) : undefined), [part]);
  if (part.type === 'text') {
    if (value === undefined) return <JsonText text={part.text} />;
    const columns = columnsOf(value);
    return columns ? <Rows columns={columns} rows={value as Row[]} /> : <JsonTree value={value} />;
  }
  if (!/^image\/(?:png|jpeg|gif|webp)$/.test(part.mediaType)) return <p class="note">{part.mediaType}</p>;
  return <img src={`data:${part.mediaType};base64,${part.data}`} alt="Result of the tool" />;
}

type Row = Record<string, unknown>;
const MAX_COLUMNS = 8;
const MAX_ROWS = 100;
const SHORT = 30;
/** Longer results stay text. */
const MAX_PARSED = 1_000_000;

/** The columns of a list of objects with the same simple fields; undefined for other values. */
function columnsOf(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length < 2 || value.length > MAX_ROWS) return undefined;
  const [first] = value;
  const columns = typeof first === 'object' && first !== null ? Object.keys(first) : [];
  const fits = (row: unknown) =>
    typeof row === 'object' &&
    row !== null &&
    Object.keys(row).join('\n') === columns.join('\n') &&
    Object.values(row).every((cell) => typeof cell !== 'object' || cell === null);
  return columns.length > 0 && columns.length <= MAX_COLUMNS && value.every(fits) ? columns : undefined;
}

function Rows({ columns, rows }: { columns: string[]; rows: readonly Row[] }): VNode {
  return (
    <Wide label="Result">
      <table>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map((name) => (
                <Cell key={name} text={String(row[name])} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

/** Short ones, such as dates, stay on one line. */
function Cell({ text }: { text: string }): VNode {
  return <td class={text.length <= SHORT ? 'short' : ''}>{text}</td>;
}

/** Undefined if it is not an object or a list. */
function parsed(text: string): unknown {
  if (text.length > MAX_PARSED || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
