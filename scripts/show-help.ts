// For `npm run NAME -- --help`.

/** Prints the help of a script and ends the process, if that is asked for. */
export function showHelp(text: string): void {
  if (!process.argv.some((argument) => argument === '--help' || argument === '-h')) return;
  process.stdout.write(text);
  process.exit();
}
