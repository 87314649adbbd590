// The version of this package. Imports nothing of ours: `pocket-agent --version` answers at once.
import { readFileSync } from 'node:fs';

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return String(version);
}
