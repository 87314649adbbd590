// The output of a program: characters that act on a terminal, and readers that go away.

/** Control characters, and those that are invisible or change the direction of writing. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Writes such characters as `\u…`, which in JSON means the same. */
export function escapeUnseen(text: string): string {
  return text.replace(unseen, (found) =>
    Array.from(
      { length: found.length },
      (_, index) => `\\u${found.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/** Before anything is written. What nobody reads is no reason to fall; what cannot be written is told, and ends it. */
export function outlastReaders(): void {
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`The output cannot be written: ${error.message}\n`);
    process.exit(1);
  });
}
