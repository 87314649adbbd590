// One line of the palette.
import { address } from '../parts/hooks.ts';

export interface Entry {
  label: string;
  /** What it is, in a word. */
  kind: string;
  act(): unknown;
  /** For what cannot be undone: its label while it asks to be chosen once more. */
  again?: string;
}

export function goTo(label: string, kind: string, ...parts: string[]): Entry {
  return {
    label,
    kind,
    act: () => {
      location.hash = address(...parts);
    },
  };
}
