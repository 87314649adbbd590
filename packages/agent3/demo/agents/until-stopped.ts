// Prints the URL of a demo agent and keeps it running until its stdin is closed.

export function untilStopped(url: string, close: () => unknown): void {
  process.stdout.write(`${url}\n`);
  process.stdin.resume().once('end', async () => {
    await close();
    process.exit(0);
  });
}
