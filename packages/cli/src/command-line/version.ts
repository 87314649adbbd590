// The version of this package. It imports nothing else, so that `pocket-agent --version` is fast.
import { readFileSync } from 'node:fs';

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return String(version);
}
