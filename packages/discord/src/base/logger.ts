// JSON lines on stderr: events with ids. Text of users and models appears only at level debug.
import { type Logger, type LogLevel, lineLogger, logLevels, printableJson } from '@pocket-agent/kit';

/** JSON lines on stderr. Text of users and models appears only at level debug. */
export function jsonLogger(level: LogLevel = 'info', write?: (line: string) => void): Logger {
  return lineLogger({ levels: logLevels, level, format: jsonLine, write });
}

function jsonLine(level: LogLevel, message: string, fields?: Record<string, unknown>): string {
  return printableJson({ time: new Date().toISOString(), level, message, ...fields });
}
