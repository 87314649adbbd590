// Light or dark: as the system says, unless the person has chosen.

const KEY = 'studio-theme';

export type Theme = 'light' | 'dark';

export function chosenTheme(): Theme | undefined {
  const kept = localStorage.getItem(KEY);
  return kept === 'light' || kept === 'dark' ? kept : undefined;
}

/** `undefined`: as the system says. */
export function chooseTheme(theme: Theme | undefined): void {
  if (theme === undefined) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  showTheme();
}

export function showTheme(): void {
  const theme = chosenTheme();
  if (theme === undefined) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
