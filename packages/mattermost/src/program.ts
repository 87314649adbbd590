// The program mcp-server-mattermost: reads arguments and environment, sets the exit code.
import { ignoreClosedPipes } from '@pocket-agent/http/output';
import { errorText, VERSION } from '@pocket-agent/kit';
import { withExport } from '@pocket-agent/kit/telemetry/export';
import { isMattermostError } from './base/errors.ts';
import { HELP, readCommand } from './config/command-line.ts';
import { configFrom } from './config/config.ts';
import { ConfigProblems } from './config/problems.ts';

export async function runProgram(): Promise<void> {
  ignoreClosedPipes();
  try {
    const command = readCommand(process.argv.slice(2), process.env);
    if (command.kind === 'help') process.stdout.write(HELP);
    else if (command.kind === 'version') process.stdout.write(`${VERSION}\n`);
    else {
      const config = configFrom(command.environment, new ConfigProblems(command.labels));
      const { serve } = await import('./server/serve.ts'); // only here: --help and wrong settings need no server
      await withExport('mcp-server-mattermost', () => serve(config));
    }
  } catch (error) {
    process.stderr.write(`mcp-server-mattermost: ${errorText(error)}\n`);
    process.exitCode = isMattermostError(error, 'CONFIG_INVALID') ? 2 : 1;
  }
}
