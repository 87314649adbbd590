// For `npm run NAME -- --help`.

/** If the command line has --help or -h, prints the text and ends the process. */
export function showHelp(text: string): void {
  if (!process.argv.some((argument) => argument === '--help' || argument === '-h')) return;
  process.stdout.write(text);
  process.exit();
}
