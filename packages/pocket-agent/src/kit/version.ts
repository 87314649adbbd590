// The version of this package, from the one place where it stands.
import { fileSystem } from './late-node.ts';

export function packageVersion(): string {
  const { version } = JSON.parse(fileSystem().readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return String(version);
}
