// Shows the library's log on the screen, made safe to print because it may quote servers.
import { type Logger, printable } from '@pocket-agent/kit';

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

/** Logs from `POCKET_AGENT_LOG_LEVEL` up; the default is `error`, because events show the rest. */
export function screenLogger(write: (line: string) => void): Logger {
  const requested = process.env.POCKET_AGENT_LOG_LEVEL?.toLowerCase();
  const threshold =
    requested === 'silent' ? levels.length : levels.findIndex((level) => level === (requested ?? 'error'));
  const writer = (level: Level) => (message: string, fields?: Record<string, unknown>) => {
    if (levels.indexOf(level) < threshold) return;
    const extra = fields && Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : '';
    write(printable(`[pocket-agent] ${level}: ${message}${extra}`));
  };
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
}
