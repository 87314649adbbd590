// The logger: lines on stderr, as JSON or text. Stdout is reserved for the MCP protocol.
import { escapeUnseen } from '@pocket-agent/http/output';

export const logLevels = ['debug', 'info', 'warning', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ['json', 'text'] as const;
export type LogFormat = (typeof logFormats)[number];

export type LogFields = Record<string, string | number | boolean | undefined>;

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

export function createLog({ level, format, write = (line) => process.stderr.write(line) }: LogOptions): Log {
  const threshold = logLevels.indexOf(level);
  const at = (name: LogLevel) => (message: string, fields?: LogFields) => {
    if (logLevels.indexOf(name) < threshold) return;
    const timestamp = new Date().toISOString();
    const line =
      format === 'json'
        ? JSON.stringify({ timestamp, level: name, message, ...fields })
        : `${timestamp} ${name} ${message}${fields ? ` ${JSON.stringify(fields)}` : ''}`;
    write(`${escapeUnseen(line)}\n`);
  };
  return { debug: at('debug'), info: at('info'), warning: at('warning'), error: at('error') };
}
