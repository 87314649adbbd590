// How to install packages of Pocket Agent, for error texts. They are not on npm yet, so the command names their tarballs.
import { versionIn } from './lazy-node.ts';

/** Returns a command for the named packages, such as `pocket-agent` and `@pocket-agent/store`. */
export function installCommand(...packages: readonly string[]): string {
  const version = versionIn(new URL('../package.json', import.meta.url));
  const files = packages.map((name) => `CHECKOUT/tarballs/${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
  return `npm install ${files.join(' ')}, where CHECKOUT is a checkout of Pocket Agent after npm run pack`;
}
