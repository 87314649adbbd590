// The logger. It writes to stderr: on stdio, a server's stdout carries its protocol.
import { printableJson, printableText } from './printable.ts';
import { redactSecrets } from './redaction.ts';

export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
type Level = (typeof levels)[number];

function isLevel(value: string | undefined): value is Level {
  return levels.some((level) => level === value);
}

/** Logs to stderr from `level` up; the default level is `POCKET_AGENT_LOG_LEVEL`, else `warn`. */
export function stderrLogger(level?: Level): Logger {
  const fromEnvironment = process.env.POCKET_AGENT_LOG_LEVEL?.toLowerCase();
  const chosen = level ?? (isLevel(fromEnvironment) ? fromEnvironment : 'warn');
  loggers[chosen] ??= Object.freeze(loggerFrom(chosen));
  return loggers[chosen];
}

/** All agents share one logger per level. */
const loggers: Partial<Record<Level, Logger>> = {};

function loggerFrom(level: Level): Logger {
  const threshold = levels.indexOf(level);
  const writer = (name: Level) => (message: string, fields?: Record<string, unknown>) => {
    if (levels.indexOf(name) < threshold) return;
    const extra = fields && Object.keys(fields).length > 0 ? ` ${printableJson(fields)}` : '';
    // continuation lines are indented, so that a message cannot fake a second one
    const text = printableText(redactSecrets(message + extra)).replaceAll('\n', '\n  ');
    process.stderr.write(`[pocket-agent] ${name}: ${text}\n`);
  };
  return { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
}
