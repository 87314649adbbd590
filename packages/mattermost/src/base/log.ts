// The logger: lines on stderr, as JSON or text. Stdout is reserved for the MCP protocol.
import { escapeInvisible, lineLogger } from '@pocket-agent/kit';

export const logLevels = ['debug', 'info', 'warning', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ['json', 'text'] as const;
export type LogFormat = (typeof logFormats)[number];

export type LogFields = Record<string, string | number | boolean | undefined>;

/** The logger of the server. Each entry has a name and fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warning(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

interface LogOptions {
  level: LogLevel;
  format: LogFormat;
  write?: (line: string) => void;
}

/** Logs to stderr, as JSON or text: stdout belongs to the MCP protocol. */
export function createLog({ level, format, write }: LogOptions): Log {
  return lineLogger({ levels: logLevels, level, format: format === 'json' ? jsonLine : textLine, write });
}

function jsonLine(level: LogLevel, message: string, fields?: LogFields): string {
  return escapeInvisible(JSON.stringify({ timestamp: new Date().toISOString(), level, message, ...fields }));
}

function textLine(level: LogLevel, message: string, fields?: LogFields): string {
  return escapeInvisible(
    `${new Date().toISOString()} ${level} ${message}${fields ? ` ${JSON.stringify(fields)}` : ''}`,
  );
}
