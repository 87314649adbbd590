// Hashes of texts. `node:crypto` takes longer to load than all our own files of a kind, so it waits for the first text.

/** SHA-256, hexadecimal. */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', text);
}
