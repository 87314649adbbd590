// A table that may be wider than the screen: it scrolls, also by keys.
import type { ComponentChildren, VNode } from 'preact';

export function Wide({ label, children }: { label: string; children: ComponentChildren }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without the focus, keys do not scroll it
    <section class="wide" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
