// Parts of Node that take milliseconds to load and that many programs never need, loaded with their first use.

export function fileSystem(): typeof import('node:fs') {
  return process.getBuiltinModule('node:fs');
}

/** SHA-256, hexadecimal. */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', text);
}

/** For our own child processes: they use the compile cache of this process, if it has one. Halves the time to start. */
export function compileCacheEnv(): Record<string, string> {
  const { NODE_COMPILE_CACHE: folder } = process.env;
  return folder ? { NODE_COMPILE_CACHE: folder } : {};
}

/** The version that a package.json states. */
export function versionIn(packageFile: URL): string {
  const { version } = JSON.parse(fileSystem().readFileSync(packageFile, 'utf8'));
  return String(version);
}
