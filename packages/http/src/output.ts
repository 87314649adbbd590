// The output of a program, when whoever read it goes away.

/** Before anything is written. What nobody reads is no reason to fall; what cannot be written is told, and ends it. */
export function outlastReaders(): void {
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`The output cannot be written: ${error.message}\n`);
    process.exit(1);
  });
}
