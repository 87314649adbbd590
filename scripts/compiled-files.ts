// Tells compiled files whose source exists from those whose source was moved or deleted.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** `file` is relative to the folder that the compiler writes to. */
export function isCurrent(packageFolder: string, file: string): boolean {
  const compiled = /(\.d)?\.[jt]s(\.map)?$/;
  return existsSync(join(packageFolder, 'src', compiled.test(file) ? file.replace(compiled, '.ts') : file));
}
