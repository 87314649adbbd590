// j and k move the focus in a list: an element with `data-list`, whose items have `data-item`.

/** Moves in the list that has the focus, else to the first item of a list of the view. */
export function moveInList(event: KeyboardEvent): void {
  const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : 0;
  if (step === 0 || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const focused = document.activeElement;
  if (focused?.closest('input:not([type="checkbox"]), textarea, select, dialog')) return;
  const list = focused?.closest('[data-list]') ?? firstInSight('main [data-list]') ?? firstInSight('[data-list]');
  const items = [...(list?.querySelectorAll<HTMLElement>('[data-item]') ?? [])];
  const at = items.findIndex((item) => item.closest('tr, li')?.contains(focused));
  const next = items[at < 0 ? 0 : Math.min(items.length - 1, Math.max(0, at + step))];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function firstInSight(selector: string): Element | undefined {
  return [...document.querySelectorAll(selector)].find((list) => list.checkVisibility());
}
