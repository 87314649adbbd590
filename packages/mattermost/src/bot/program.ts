// The program mattermost-bot: reads arguments and environment, sets the exit code.
import { ignoreClosedPipes } from '@pocket-agent/http/output';
import { errorText, VERSION } from '@pocket-agent/kit';
import { withExport } from '@pocket-agent/kit/telemetry/export';
import { isMattermostError } from '../base/errors.ts';
import { HELP, readBotCommand } from './command-line.ts';

export async function runProgram(): Promise<void> {
  ignoreClosedPipes();
  try {
    const command = readBotCommand(process.argv.slice(2), process.env);
    if (command === 'help') process.stdout.write(HELP);
    else if (command === 'version') process.stdout.write(`${VERSION}\n`);
    else {
      const { runBot } = await import('./run.ts');
      await withExport('mattermost-bot', () => runBot(command));
    }
  } catch (error) {
    process.stderr.write(`mattermost-bot: ${errorText(error)}\n`);
    process.exitCode = isMattermostError(error, 'CONFIG_INVALID') ? 2 : 1;
  }
}
