// A demo agent tells its address and lives until its parent is gone.

export function untilStopped(url: string, close: () => unknown): void {
  process.stdout.write(`${url}\n`);
  process.stdin.resume().once('end', async () => {
    await close();
    process.exit(0);
  });
}
