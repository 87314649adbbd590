// The command `pocket-agent serve-tools`: tool folders as an MCP server for any other host.

import { type ProfileName, readProfile } from '../access/access.ts';
import { PocketError } from '../kit/errors.ts';
import { printable } from '../kit/printable.ts';
import { accessOptions, readFolderOptions, sourceOptions } from './agent-options.ts';
import { readArguments } from './arguments.ts';
import { exitCodes } from './exit-codes.ts';
import { httpOptions, listenUntilStopped, readAddress, tellStdio } from './http-options.ts';
import type { Interrupts } from './interrupts.ts';
import { reportEdits } from './report-edits.ts';
import { screenLogger } from './screen-logger.ts';
import { loadFolders } from './tool-sources.ts';

const serveToolsOptions = {
  ...httpOptions,
  profile: accessOptions.profile,
  'default-capability': sourceOptions['default-capability'],
  watch: { type: 'boolean', default: false },
} as const;

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals } = readArguments(args, serveToolsOptions);
  if (positionals.length === 0) {
    throw new PocketError('CONFIG_INVALID', 'Which tools? pocket-agent serve-tools DIR...');
  }
  const address = readAddress(values);
  // stdout belongs to the protocol
  const tell = (line: string) => void process.stderr.write(`${line}\n`);
  const options = { ...readFolderOptions(values), logger: screenLogger(tell), watch: values.watch };
  const profile = values.profile === undefined ? undefined : readProfile(values.profile as ProfileName);
  const { folders, problems, warnings } = await loadFolders(positionals, { ...options, signal: interrupts.signal });
  for (const line of [...problems, ...warnings]) tell(printable(line));
  const { JoinedFolders } = await import('./joined-folders.ts');
  const [only, ...others] = folders;
  const served = only && others.length === 0 ? only : new JoinedFolders(folders, options);
  const states = served.folders;
  const broken = states.filter(({ problems }) => problems.length > 0).map(({ name }) => name);
  try {
    // a watched folder may be repaired while it is served
    if (broken.length === states.length && !values.watch) {
      tell(printable(`There is nothing to serve: fix what is named above in ${broken.join(', ')}.`));
      return exitCodes.failed;
    }
    if (broken.length > 0) tell(printable(`Serving without ${broken.join(', ')}.`));
    await served.listTools();
    if (values.watch) reportEdits(served, (line) => tell(printable(line)));
    const server = await served.asMcpServer(profile ? { profile } : {});
    if (address) return await listenUntilStopped(interrupts, address, (given) => server.listen(given));
    tellStdio();
    await server.serveStdio();
    return 0;
  } finally {
    await served.close();
  }
}
