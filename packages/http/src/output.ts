// The output of a program: escapes control characters, and survives closed pipes.

/** Control characters, and characters that are invisible or change the text direction. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Escapes such characters as `\u…`, which means the same in JSON. */
export function escapeUnseen(text: string): string {
  return text.replace(unseen, (found) =>
    Array.from(
      { length: found.length },
      (_, index) => `\\u${found.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/** To be called before the first output. A closed pipe is ignored; any other error of stdout ends the process. */
export function outlastReaders(): void {
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`The output cannot be written: ${error.message}\n`);
    process.exit(1);
  });
}
