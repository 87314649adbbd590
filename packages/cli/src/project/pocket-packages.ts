// Where a new project gets the packages of Pocket Agent from: tarballs, or npm once they are published.
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PocketError, VERSION } from '@pocket-agent/kit';

const own = fileURLToPath(new URL('../..', import.meta.url));
const checkout = join(own, '../..');

export interface PocketPackages {
  /** The version for package.json, by the name of the package. */
  versions: Readonly<Record<string, string>>;
  /** Files to copy into the folder `tarballs` of the project. */
  tarballs: readonly string[];
}

export function isPocketPackage(name: string): boolean {
  return name === 'pocket-agent' || name.startsWith('@pocket-agent/');
}

/** `folder` contains tarballs. Without it, they are those of the checkout that this command belongs to. */
export function findPackages(names: readonly string[], folder: string | undefined): PocketPackages {
  const source = folder === undefined ? tarballsOfCheckout() : folder;
  if (source === undefined) {
    return { versions: Object.fromEntries(names.map((name) => [name, `^${VERSION}`])), tarballs: [] };
  }
  const tarballs = names.map((name) => join(source, tarballName(name)));
  const missing = tarballs.filter((file) => !existsSync(file)).map((file) => basename(file));
  if (missing.length > 0) {
    const wayOut = 'Run npm run pack in a checkout of Pocket Agent; it writes them to CHECKOUT/tarballs.';
    throw new PocketError('CONFIG_INVALID', `${source} does not contain ${missing.join(', ')}. ${wayOut}`);
  }
  const versions = Object.fromEntries(names.map((name) => [name, `file:tarballs/${tarballName(name)}`]));
  return { versions, tarballs };
}

/** Undefined if this command was installed from npm, where the other packages are too. */
function tarballsOfCheckout(): string | undefined {
  if (existsSync(join(checkout, 'scripts/pack.ts'))) return join(checkout, 'tarballs');
  if (!isFromTarball()) return undefined;
  const wayOut = 'Run npm run pack in a checkout of Pocket Agent, and add --tarballs CHECKOUT/tarballs.';
  throw new PocketError('CONFIG_INVALID', `The packages of the project are not on npm yet. ${wayOut}`);
}

/** Only tarballs of `npm run pack` bundle their dependencies. */
function isFromTarball(): boolean {
  return JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')).bundleDependencies !== undefined;
}

/** The name that npm gives: pocket-agent-store-0.1.0.tgz for @pocket-agent/store. */
function tarballName(name: string): string {
  return `${name.replace('@', '').replace('/', '-')}-${VERSION}.tgz`;
}
