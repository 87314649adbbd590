// The library's log as lines on the screen, made harmless: what servers say may be in it.
import { type Logger, printable } from '@pocket-agent/kit';

const levels = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

/** From `POCKET_AGENT_LOG_LEVEL` up; default `error`, because the rest shows as events. */
export function screenLogger(write: (line: string) => void): Logger {
  const asked = process.env.POCKET_AGENT_LOG_LEVEL?.toLowerCase();
  const threshold = asked === 'silent' ? levels.length : levels.findIndex((level) => level === (asked ?? 'error'));
  const writer = (level: Level) => (message: string, fields?: Record<string, unknown>) => {
    if (levels.indexOf(level) < threshold) return;
    const extra = fields && Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : '';
    write(printable(`[pocket-agent] ${level}: ${message}${extra}`));
  };
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
}
