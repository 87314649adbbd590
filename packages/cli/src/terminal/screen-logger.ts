// Shows the library's log on the screen, made safe to print because it may quote servers.
import {
  type Logger,
  type LogLevel,
  lineLogger,
  logLevels,
  logText,
  printable,
  requestedLogLevel,
} from '@pocket-agent/kit';

/** Logs from `POCKET_AGENT_LOG_LEVEL` up. The default is for commands that show events. */
export function screenLogger(write: (line: string) => void, level: LogLevel = 'error'): Logger {
  return lineLogger({
    levels: logLevels,
    level: requestedLogLevel() ?? level,
    format: logText,
    write: (line) => write(printable(line)),
  });
}
