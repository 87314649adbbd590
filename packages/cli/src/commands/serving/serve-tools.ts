// The command `pocket-agent serve-tools`: serves tool folders over MCP.

import { PocketError, printable } from '@pocket-agent/kit';
import type { ProfileName } from 'pocket-agent';
import { readProfile } from 'pocket-agent/internal';
import { readArguments } from '../../command-line/arguments.ts';
import { exitCodes } from '../../command-line/exit-codes.ts';
import { explainStdio, httpOptions, listenUntilStopped, readAddress } from '../../command-line/http-options.ts';
import type { Interrupts } from '../../command-line/interrupts.ts';
import { accessFlags, readFolderOptions, sourceFlags } from '../../setup/agent-request.ts';
import { reportEdits } from '../../setup/report-edits.ts';
import { loadFolders } from '../../setup/tool-sources.ts';
import { screenLogger } from '../../terminal/screen-logger.ts';

const serveToolsOptions = {
  ...httpOptions,
  profile: accessFlags.profile,
  'default-capability': sourceFlags['default-capability'],
  watch: { type: 'boolean', default: false },
} as const;

export async function command(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const { values, positionals } = readArguments(args, serveToolsOptions);
  if (positionals.length === 0) {
    throw new PocketError('CONFIG_INVALID', 'Give a tool folder: pocket-agent serve-tools DIR...');
  }
  const address = readAddress(values);
  // stdout carries the protocol
  const tell = (line: string) => void process.stderr.write(`${line}\n`);
  const options = { ...readFolderOptions(values), logger: screenLogger(tell), watch: values.watch };
  const profile = values.profile === undefined ? undefined : readProfile(values.profile as ProfileName);
  const { folders, problems, warnings } = await loadFolders(positionals, { ...options, signal: interrupts.signal });
  for (const line of [...problems, ...warnings]) tell(printable(line));
  const { JoinedFolders } = await import('@pocket-agent/tool-folder');
  const [only, ...others] = folders;
  const served = only && others.length === 0 ? only : new JoinedFolders(folders, options);
  const states = served.folders;
  const broken = states.filter(({ problems }) => problems.length > 0).map(({ name }) => name);
  try {
    // a watched folder may be fixed while it is served
    if (broken.length === states.length && !values.watch) {
      tell(printable(`Nothing to serve: fix the problems above in ${broken.join(', ')}.`));
      return exitCodes.failed;
    }
    if (broken.length > 0) tell(printable(`Serving without ${broken.join(', ')}.`));
    await served.listTools();
    if (values.watch) reportEdits(served, (line) => tell(printable(line)));
    const server = served.asMcpServer(profile ? { profile } : {});
    if (address) return await listenUntilStopped(interrupts, address, (given) => server.listen(given));
    explainStdio();
    await server.serveStdio();
    return 0;
  } finally {
    await served.close();
  }
}
