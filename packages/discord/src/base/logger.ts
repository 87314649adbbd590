// JSON lines on stderr: events with ids. Text of users and models appears only at level debug.
import { type Logger, printableJson } from '@pocket-agent/kit';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export function jsonLogger(
  level: LogLevel = 'info',
  write = (line: string) => void process.stderr.write(line),
): Logger {
  const threshold = logLevels.indexOf(level);
  const writer =
    (name: LogLevel) =>
    (message: string, fields: Record<string, unknown> = {}) => {
      if (logLevels.indexOf(name) < threshold) return;
      write(`${printableJson({ time: new Date().toISOString(), level: name, message, ...fields })}\n`);
    };
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
}
