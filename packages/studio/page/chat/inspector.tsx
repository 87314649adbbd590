// The trace beside a conversation: a column on a wide screen, whose width can be changed; elsewhere a panel over the page.
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { address } from '../parts/hooks.ts';

const KEY = 'studio-inspector';
/** In rem. */
const [MIN, FIRST, MAX] = [24, 28, 40];

interface InspectorProps {
  runId: string;
  /** Whether the panel is shown; the column always is. */
  isOpen: boolean;
  /** The address without the panel. */
  closed: string;
  /** Escape has closed the panel: where the focus goes. */
  onLeave(): void;
  children: ComponentChildren;
}

export function Inspector({ runId, isOpen, closed, onLeave, children }: InspectorProps): VNode {
  const [width, setWidth] = useWidth();
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const isInside = panel.current?.contains(document.activeElement);
    if (isOpen && !isInside) panel.current?.querySelector<HTMLElement>('.waterfall')?.focus();
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen) return;
    event.stopPropagation(); // it would stop the run
    location.hash = closed;
    onLeave();
  };
  return (
    <aside
      ref={panel}
      class={isOpen ? 'inspector open' : 'inspector'}
      aria-label="Trace of the run"
      style={{ '--width': `${width}rem` }}
      onKeyDown={onKeyDown}
    >
      <Edge width={width} onWidth={setWidth} />
      <div class="inspector-body">
        <header>
          <a href={address('runs', runId)}>Run {runId.slice(0, 4)}</a>
          <a class="close" href={closed} aria-label="Close the trace">
            ×
          </a>
        </header>
        {children}
      </div>
    </aside>
  );
}

/** Its left edge, which is dragged or moved by the arrow keys. */
function Edge({ width, onWidth }: { width: number; onWidth(width: number): void }): VNode {
  const keys: Record<string, number> = { ArrowLeft: width + 1, ArrowRight: width - 1, Home: MIN, End: MAX };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved
    <div
      class="edge"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the trace"
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      aria-valuenow={width}
      tabIndex={0}
      onKeyDown={(event) => {
        const wanted = keys[event.key];
        if (wanted === undefined) return;
        event.preventDefault();
        onWidth(wanted);
      }}
      onPointerDown={({ currentTarget, pointerId }) => currentTarget.setPointerCapture(pointerId)}
      onPointerMove={({ currentTarget, pointerId, clientX }) => {
        const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
        if (currentTarget.hasPointerCapture(pointerId)) onWidth((innerWidth - clientX) / rem);
      }}
    />
  );
}

/** Kept for the next visit. */
function useWidth(): [number, (width: number) => void] {
  const [width, setWidth] = useState(() => within(Number(localStorage.getItem(KEY)) || FIRST));
  const change = (wanted: number) => {
    setWidth(within(wanted));
    localStorage.setItem(KEY, String(within(wanted)));
  };
  return [width, change];
}

function within(width: number): number {
  return Math.round(Math.min(MAX, Math.max(MIN, width)) * 10) / 10;
}
