// Writes a new project: the files of a template with its name, its packages and its secrets filled in.
import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorText, makeFolder, PocketError } from '@pocket-agent/kit';
import { findPackages, isPocketPackage } from './pocket-packages.ts';
import { type Template, templateFiles } from './templates.ts';

/** Placeholders in the files of templates. */
const NAME = /my-project/g;
const SECRET = /new-secret/g;
/** The lines of a Dockerfile that only a project with tarballs needs. */
const TARBALL_LINES = /^.*\btarballs\b.*\n/gm;
const SECRETS_FILE = '.env';

export interface NewProject {
  name: string;
  template: Template;
  /** Where the folder of the project is created. */
  directory: string;
  /** A folder with the tarballs of the packages. */
  tarballs?: string | undefined;
}

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

/** Creates `<directory>/<name>` and returns its path. Fails if it exists. */
export async function writeProject({ name, template, directory, tarballs }: NewProject): Promise<string> {
  const files = await templateFiles(template);
  const manifest: Manifest = JSON.parse(files.get('package.json') ?? '');
  checkName(name, manifest);
  const { dependencies, devDependencies } = manifest;
  const names = Object.keys({ ...dependencies, ...devDependencies }).filter(isPocketPackage);
  const packages = findPackages(names, tarballs === undefined ? undefined : resolve(directory, tarballs));
  for (const list of [dependencies, devDependencies])
    for (const name of Object.keys(list)) list[name] = packages.versions[name] ?? list[name] ?? '';
  files.set('package.json', `${JSON.stringify(manifest, null, 2)}\n`);
  if (packages.tarballs.length === 0) {
    files.set('Dockerfile', (files.get('Dockerfile') ?? '').replace(TARBALL_LINES, ''));
  }

  const path = resolve(directory, name);
  await newFolder(path);
  try {
    for (const [file, text] of files) await writeInside(join(path, file), filledIn(text, name));
    for (const file of packages.tarballs) await copyInside(join(path, 'tarballs', basename(file)), file);
  } catch (error) {
    await rm(path, { recursive: true, force: true });
    throw error;
  }
  return path;
}

function checkName(name: string, { dependencies }: Manifest): void {
  if (!/^[a-z][a-z0-9-]{0,49}$/.test(name)) {
    const rule = 'start with a lower-case letter and use at most 50 lower-case letters, digits and -';
    throw new PocketError('CONFIG_INVALID', `"${name}" is not a valid name for a project: ${rule}.`);
  }
  if (Object.hasOwn(dependencies, name)) {
    const reason = 'the project needs a package of that name, and npm does not install a package into itself';
    throw new PocketError('CONFIG_INVALID', `"${name}" cannot be the name of the project: ${reason}.`);
  }
}

async function newFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const reason = errorText(error).includes('EEXIST') ? 'it already exists; choose another name' : errorText(error);
    throw new PocketError('CONFIG_INVALID', `Cannot create ${path}: ${reason}.`, { cause: error });
  }
}

/** Each occurrence of the secret gets a new random value. */
function filledIn(text: string, name: string): string {
  return text.replace(NAME, name).replace(SECRET, () => randomBytes(24).toString('hex'));
}

async function writeInside(file: string, text: string): Promise<void> {
  await makeFolder(dirname(file));
  const mode = basename(file) === SECRETS_FILE ? 0o600 : 0o666;
  await writeFile(file, text, { flag: 'wx', mode });
}

async function copyInside(file: string, from: string): Promise<void> {
  await makeFolder(dirname(file));
  await copyFile(from, file);
}
