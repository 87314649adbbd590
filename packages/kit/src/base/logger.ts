// The logger. It writes to stderr: on stdio, a server's stdout carries its protocol.
import { errorText } from './errors.ts';
import { printableJson, printableText } from './printable.ts';
import { redactSecrets } from './redaction.ts';

/** Where the library logs; it has the methods of `console`. */
export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
/** The least important messages that are logged. */
export type LogLevel = (typeof logLevels)[number];

/** The value of `POCKET_AGENT_LOG_LEVEL`, if it is a level. */
export function requestedLogLevel(): LogLevel | undefined {
  const requested = process.env.POCKET_AGENT_LOG_LEVEL?.toLowerCase();
  return logLevels.find((level) => level === requested);
}

/** Logs to stderr from `level` up; the default level is `POCKET_AGENT_LOG_LEVEL`, else `warn`. */
export function stderrLogger(level?: LogLevel): Logger {
  const chosen = level ?? requestedLogLevel() ?? 'warn';
  loggers[chosen] ??= Object.freeze(lineLogger({ levels: logLevels, level: chosen, format: logText }));
  return loggers[chosen];
}

/** All agents share one logger per level. */
const loggers: Partial<Record<LogLevel, Logger>> = {};

/** The text of a log line, without secrets. */
export function logText(level: LogLevel, message: string, fields?: Record<string, unknown>): string {
  const extra = fields && Object.keys(fields).length > 0 ? ` ${printableJson(fields)}` : '';
  // continuation lines are indented, so that a message cannot fake a second one
  const text = printableText(redactSecrets(message + extra)).replaceAll('\n', '\n  ');
  return `[pocket-agent] ${level}: ${text}`;
}

interface LineLoggerOptions<Level extends string, Fields> {
  /** In rising order. `silent` turns the logger off. */
  levels: readonly Level[];
  /** Messages below this level are not written. */
  level: Level;
  format(level: Level, message: string, fields?: Fields): string;
  write?: ((line: string) => void) | undefined;
}

type LineLogger<Level extends string, Fields> = Record<
  Exclude<Level, 'silent'>,
  (message: string, fields?: Fields) => void
>;

/** A logger that writes each message as a line, by default to stderr. It has one method for each level but `silent`. */
export function lineLogger<Level extends string, Fields>(
  options: LineLoggerOptions<Level, Fields>,
): LineLogger<Level, Fields> {
  const { levels, level, format, write = (line) => void process.stderr.write(line) } = options;
  const threshold = levels.indexOf(level);
  const writer = (name: Level) => (message: string, fields?: Fields) => {
    if (levels.indexOf(name) >= threshold) write(`${format(name, message, fields)}\n`);
  };
  const methods = levels.filter((name) => name !== 'silent').map((name) => [name, writer(name)]);
  return Object.fromEntries(methods) as LineLogger<Level, Fields>;
}

/** Calls a listener. Its errors, also asynchronous ones, are only logged. */
export function callListener(logger: Logger, listener: string, call: () => unknown): void {
  const failed = (error: unknown) => logger.error(`${listener} failed: ${errorText(error)}`);
  try {
    Promise.resolve(call()).catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** The most warnings about one subject. Keys may come from outside, so their number and length are limited. */
const MAX_WARNINGS = 100;
const MAX_KEY_LENGTH = 500;

interface Warning {
  logger: Logger;
  /** What the warning is about; it is forgotten together with this object. */
  about: object;
  /** Tells several warnings about one subject apart. Default: the text. */
  key?: string;
  /** A function is called only if the warning is new; if it returns undefined, nothing is logged. */
  text: string | (() => string | undefined);
  /** Default `warn`. */
  level?: 'info' | 'warn';
}

const logged = new WeakMap<object, Set<string>>();

/** Logs each warning about a subject once, and at most 100 of them. */
export function warnOnce({
  logger,
  about,
  text,
  key = typeof text === 'string' ? text : '',
  level = 'warn',
}: Warning): void {
  const known = logged.get(about) ?? new Set();
  const shortKey = key.slice(0, MAX_KEY_LENGTH);
  if (known.has(shortKey) || known.size >= MAX_WARNINGS) return;
  const warning = typeof text === 'string' ? text : text();
  if (warning === undefined) return;
  logged.set(about, known.add(shortKey));
  logger[level](warning);
}
