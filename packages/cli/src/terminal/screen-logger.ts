// Shows the library's log on the screen, made safe to print because it may quote servers.
import { type Logger, lineLogger, logLevels, logText, printable, requestedLogLevel } from '@pocket-agent/kit';

/** Logs from `POCKET_AGENT_LOG_LEVEL` up; the default is `error`, because events show the rest. */
export function screenLogger(write: (line: string) => void): Logger {
  return lineLogger({
    levels: logLevels,
    level: requestedLogLevel() ?? 'error',
    format: logText,
    write: (line) => write(printable(line)),
  });
}
