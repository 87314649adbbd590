// Finds and imports the packages of providers: where this library is installed, or in the project that uses it.
import { PocketError } from '@pocket-agent/kit';
import { type KnownProvider, knownProviders } from './provider-table.ts';

/** Written out, so that bundlers include the packages that are installed. */
const bundled: Readonly<Record<string, () => Promise<unknown>>> = {
  '@ai-sdk/anthropic': () => import('@ai-sdk/anthropic'),
  '@ai-sdk/azure': () => import('@ai-sdk/azure'),
  '@ai-sdk/google': () => import('@ai-sdk/google'),
  '@ai-sdk/openai': () => import('@ai-sdk/openai'),
  '@ai-sdk/openai-compatible': () => import('@ai-sdk/openai-compatible'),
};

/** Imports `path`, which is the package or an entry point of it such as `@ai-sdk/google-vertex/anthropic`. */
export async function importPackage(model: string, { packageName }: KnownProvider, path = packageName) {
  try {
    return exportsOf(await (bundled[path]?.() ?? import(/* @vite-ignore */ path)));
  } catch (error) {
    const folders = foldersWith(packageName);
    if (folders.includes(import.meta.url)) throw error; // it is installed and failed
    const [project] = folders;
    if (project === undefined) throw notInstalled(model, packageName, error);
    const { pathToFileURL } = process.getBuiltinModule('node:url');
    const file = process.getBuiltinModule('node:module').createRequire(project).resolve(path);
    return exportsOf(await import(/* @vite-ignore */ pathToFileURL(file).href));
  }
}

export function isInstalled({ packageName }: KnownProvider): boolean {
  return foldersWith(packageName).length > 0;
}

/** The prefixes whose package is installed. */
export function installedPrefixes(): string[] {
  return knownProviders.filter(isInstalled).map(({ prefix }) => prefix);
}

function notInstalled(model: string, packageName: string, cause: unknown): PocketError {
  const installed = installedPrefixes();
  const others = installed.length > 0 ? ` (installed: ${installed.join(', ')})` : '';
  const text = `Model "${model}" needs a package that is not installed${others}: npm install ${packageName}`;
  return new PocketError('MODEL_PACKAGE_MISSING', text, { cause });
}

/** This file, the program and the working folder, as far as the package can be found from them. */
function foldersWith(packageName: string): string[] {
  const { createRequire } = process.getBuiltinModule('node:module');
  const { resolve } = process.getBuiltinModule('node:path');
  const program = process.argv[1];
  const places = [import.meta.url, ...(program ? [resolve(program)] : []), resolve('package.json')];
  return places.filter((place) => {
    try {
      return createRequire(place).resolve(packageName) !== undefined;
    } catch (error) {
      // a package that only `import` may load
      return error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
    }
  });
}

function exportsOf(module: unknown): Readonly<Record<string, unknown>> {
  return module as Readonly<Record<string, unknown>>;
}
