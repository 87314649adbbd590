// The templates of new projects: their names, and their files.
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeAvailable, PocketError } from '@pocket-agent/kit';

export const templates = ['agent', 'mcp-server', 'bot'] as const;
export type Template = (typeof templates)[number];

const folder = fileURLToPath(new URL('../../templates', import.meta.url));
/** Its files are part of every template. */
const COMMON = 'common';

export function templateNamed(name: string): Template {
  const found = templates.find((template) => template === name);
  if (found) return found;
  throw new PocketError('CONFIG_INVALID', `There is no template "${name}". ${describeAvailable(name, templates)}`);
}

/** The text of each file by its path in the project. */
export async function templateFiles(template: Template): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const name of [COMMON, template]) {
    const root = join(folder, name);
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      files.set(projectPath(relative(root, file)), await readFile(file, 'utf8'));
    }
  }
  return files;
}

/** `_gitignore` is `.gitignore`, which npm would leave out of the package. So are `_env` and `_github`. */
function projectPath(file: string): string {
  const parts = file.split(sep).map((part) => part.replace(/^_/, '.'));
  return parts.join('/');
}
