// The version of this package, from its package.json.
import { versionIn } from '@pocket-agent/kit';

export function packageVersion(): string {
  return versionIn(new URL('../../package.json', import.meta.url));
}
