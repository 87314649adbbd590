// Output of a program whose reader closes the pipe.

/** To be called before the first output. A closed pipe is ignored; any other error of stdout ends the process. */
export function ignoreClosedPipes(): void {
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(`The output cannot be written: ${error.message}\n`);
    process.exit(1);
  });
}
