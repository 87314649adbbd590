// Bars on a time axis. Only the rows in sight are drawn, so ten thousand scroll as ten do.
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { duration } from '../parts/format.ts';
import { useNow } from '../parts/hooks.ts';
import type { Row } from '../state/trace.ts';

const ROW_PX = 28;
/** Rows that are drawn above and below those in sight. */
const MARGIN = 10;
/** Bars of what is still running grow this often. */
const TICK_MS = 500;

interface WaterfallProps {
  rows: readonly Row[];
  selected: string | undefined;
  onSelect(key: string): void;
}

export function Waterfall({ rows, selected, onSelect }: WaterfallProps): VNode {
  const area = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const { current } = area;
    if (!current) return;
    const measure = () => setView({ top: current.scrollTop, height: current.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    current.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      current.removeEventListener('scroll', measure);
    };
  }, []);
  const isRunning = rows[0] !== undefined && rows[0].end === undefined;
  const now = useNow(TICK_MS, isRunning);
  const start = rows[0]?.start ?? 0;
  const last = useMemo(
    () => rows.reduce((latest, row) => Math.max(latest, row.end ?? row.start), start),
    [rows, start],
  );
  const end = rows[0]?.end ?? Math.max(last, now);
  const first = Math.max(0, Math.floor(view.top / ROW_PX) - MARGIN);
  const slots = Math.ceil(view.height / ROW_PX) + 2 * MARGIN;
  const shown = rows.slice(first, first + slots);
  const chosen = useMemo(() => rows.findIndex(({ key }) => key === selected), [rows, selected]);
  /** The row that the keys have reached; the page may not have drawn it yet. */
  const reached = useRef(chosen);
  useEffect(() => {
    reached.current = chosen;
    const { current } = area;
    const top = chosen * ROW_PX;
    if (!current || chosen < 0) return;
    if (top < current.scrollTop || top > current.scrollTop + current.clientHeight - 2 * ROW_PX)
      current.scrollTop = top - current.clientHeight / 2;
  }, [chosen]);
  const move = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey) return;
    const step =
      event.key === 'j' || event.key === 'ArrowDown' ? 1 : event.key === 'k' || event.key === 'ArrowUp' ? -1 : 0;
    const index = Math.max(0, reached.current + step);
    const next = rows[index];
    if (step === 0 || !next) return;
    event.preventDefault();
    reached.current = index;
    onSelect(next.key);
  };
  return (
    <div
      class="waterfall"
      ref={area}
      role="listbox"
      aria-label="Trace"
      aria-activedescendant={chosen < 0 ? undefined : `row-${chosen}`}
      tabIndex={0}
      onKeyDown={move}
    >
      <Axis ms={end - start} />
      <div style={{ height: `${rows.length * ROW_PX}px` }} class="waterfall-rows">
        {shown.map((row, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus
          <div
            key={(first + index) % slots} // elements of rows that leave are used for those that come
            id={`row-${first + index}`}
            class={`row ${row.kind === 'tool' ? 'call' : row.kind}${row.isFailed ? ' failed' : ''}`}
            role="option"
            aria-selected={row.key === selected}
            style={{ top: `${(first + index) * ROW_PX}px` }}
            title={row.note}
            onClick={() => onSelect(row.key)}
          >
            <span class="row-label" style={{ paddingLeft: `${row.depth * 0.8}rem` }}>
              {row.label} {row.isFailed && <span class="small">{row.note}</span>}
              {row.kind === 'model' && <Tokens row={row} />}
            </span>
            <span class="row-bar">
              <Bar row={row} start={start} end={end} />
            </span>
            <span class="row-time">{row.end === undefined ? '…' : duration(row.end - row.start)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}

/** The time axis, which stays in sight. */
function Axis({ ms }: { ms: number }): VNode {
  return (
    <div class="axis" aria-hidden="true">
      <span class="axis-times">
        {[0, 1 / 3, 2 / 3, 1].map((part) => (
          <span key={part}>{part === 0 ? '0' : duration(ms * part)}</span>
        ))}
      </span>
    </div>
  );
}

function Tokens({ row: { step, key } }: { row: Row }): VNode | null {
  if (!step || step.inputTokens === undefined || !key.endsWith('model')) return null;
  const { inputTokens, outputTokens = 0 } = step;
  return (
    <span class="row-tokens">
      {inputTokens.toLocaleString('en')} → {outputTokens.toLocaleString('en')}
    </span>
  );
}

function Bar({ row, start, end }: { row: Row; start: number; end: number }): VNode {
  const whole = Math.max(1, end - start);
  const left = (100 * (row.start - start)) / whole;
  const width = (100 * ((row.end ?? end) - row.start)) / whole;
  return <span class="bar" style={{ left: `${left}%`, width: `max(2px, ${Math.min(100 - left, width)}%)` }} />;
}
