// The program: starts a bot from environment variables, or one process per shard with --shards N.
import { parseArgs } from 'node:util';
import { ignoreClosedPipes } from '@pocket-agent/http/output';
import { errorText, explainArguments, installCommand } from '@pocket-agent/kit';
import { withExport } from '@pocket-agent/kit/telemetry/export';
import type { StudioAddress } from '@pocket-agent/studio';
import type { Logger } from 'pocket-agent';
import { DiscordBotError, errorKind } from './base/errors.ts';
import { jsonLogger } from './base/logger.ts';
import { readEnvironment } from './config/environment.ts';
import type { BotOptions } from './config/options.ts';
import { SETUP_STEPS } from './setup-steps.ts';
import { stopSignal, whenAborted } from './stop-signal.ts';

const HELP = `Usage: pocket-discord [--shards N]

  --shards N   start N processes, one per shard; by default one process runs all shards
  --help       show this help

Environment variables configure the bot: DISCORD_TOKEN, POCKET_DISCORD_MODELS, DATABASE_URL, …; see docs/discord.md.
`;
/** Supervisors kill a process after ten seconds; a bot normally closes sooner. */
const FORCE_EXIT_MS = 9_800;
const FORCED_EXIT = 130;
/** Names that other bots use for the token. */
const TOKEN_LIKE_NAME = /^(DISCORD_?\w*TOKEN|BOT_TOKEN)$/i;

/** `program` is the file that each shard runs. Returns the exit code. */
export async function runProgram(program: string): Promise<number> {
  ignoreClosedPipes();
  process.on('error', () => {}); // the parent process may be gone
  try {
    return await run(program);
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    return isConfiguration(error) ? 2 : 1;
  }
}

function isConfiguration(error: unknown): boolean {
  return error instanceof DiscordBotError && error.code === 'CONFIG_INVALID';
}

const argumentRules = { shards: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const;

function readArguments() {
  try {
    return parseArgs({ options: argumentRules }).values;
  } catch (error) {
    const problem = explainArguments(error, { options: argumentRules });
    throw new DiscordBotError('CONFIG_INVALID', `${problem} See pocket-discord --help.`);
  }
}

async function run(program: string): Promise<number> {
  const { help, shards } = readArguments();
  if (help) {
    process.stdout.write(HELP);
    return 0;
  }
  const bot = readOptions();
  if (shards === undefined) return withExport('pocket-discord', () => runBot(bot));
  const { runShards } = await import('./shards.ts');
  const { token, apiUrl, logger = jsonLogger() } = bot;
  return runShards({ token, apiUrl, logger, count: shards, program });
}

/** Without a token, reports all other problems too. */
function readOptions(): BotOptions {
  const token = process.env.DISCORD_TOKEN?.trim();
  try {
    const options = readEnvironment(process.env);
    if (token) return { token, ...options };
  } catch (error) {
    if (token) throw error;
    throw new DiscordBotError('CONFIG_INVALID', `${missingTokenText()}\nOther problems:\n${errorText(error)}`);
  }
  throw new DiscordBotError('CONFIG_INVALID', missingTokenText());
}

function missingTokenText(): string {
  const other = Object.keys(process.env).find((name) => name !== 'DISCORD_TOKEN' && TOKEN_LIKE_NAME.test(name));
  return other === undefined ? SETUP_STEPS : `${other} is set; did you mean DISCORD_TOKEN?\n\n${SETUP_STEPS}`;
}

async function runBot(options: BotOptions): Promise<number> {
  const isShard = process.env.SHARDING_MANAGER !== undefined;
  // a shard gets signals from the terminal and the parent; the parent decides when to force an exit
  const stop = stopSignal(() => isShard || process.exit(FORCED_EXIT));
  logUnhandledRejections(options.logger ?? jsonLogger());
  const { createBot } = await import('./bot.ts');
  const studio = await openStudio(options);
  const watch = studio && { watch: studio.watch };
  const bot = createBot({
    ...options,
    ...watch,
    ...(isShard ? shardOptions(options) : { client: { shards: 'auto' } }),
  });
  const starting = bot.start();
  const stopped = whenAborted(stop);
  await Promise.race([starting, stopped]);
  const failure = await Promise.race([stopped.then(() => undefined), bot.lost]);
  setTimeout(() => process.exit(1), FORCE_EXIT_MS).unref();
  await bot.close();
  await studio?.close();
  await starting.catch(() => {}); // closing interrupted it
  if (failure) throw failure;
  return 0;
}

/** For studios, which see the answers and may approve calls: `pocket-agent studio --attach URL`. Each shard has its own port. */
async function openStudio({ logger = jsonLogger() }: BotOptions): Promise<StudioAddress | undefined> {
  const { POCKET_DISCORD_STUDIO: given, POCKET_AGENT_STUDIO_TOKEN: token, SHARDS: shard = '0' } = process.env;
  if (!given?.trim()) return undefined;
  const { openStudioAddress } = await import('@pocket-agent/studio').catch((cause: unknown) => {
    const text = `POCKET_DISCORD_STUDIO needs the package @pocket-agent/studio: ${installCommand('@pocket-agent/studio')}.`;
    throw new DiscordBotError('CONFIG_INVALID', text, { cause });
  });
  // 0 stays: any free port
  const address = given.trim().replace(/\d+$/, (port) => String(Number(port) && Number(port) + Number(shard)));
  const studio = await openStudioAddress({ address, ...(token ? { token } : {}) }).catch((cause: unknown) => {
    throw new DiscordBotError('CONFIG_INVALID', `POCKET_DISCORD_STUDIO: ${errorText(cause)}`, { cause });
  });
  // a token that the operator chose stays out of the log
  logger.info('Studio', { url: token ? new URL(studio.url).origin : studio.url });
  return studio;
}

/** A rejected promise of one tool must not end the process. */
function logUnhandledRejections(logger: Logger): void {
  process.on('unhandledRejection', (error) => {
    logger.error('Unhandled promise rejection', errorKind(error));
    logger.debug('Reason of the unhandled rejection', { reason: errorText(error) });
  });
}

/** discord.js passes the shard number to a child; each shard needs its own health port. */
function shardOptions({ healthPort }: BotOptions): Pick<BotOptions, 'healthPort'> {
  return healthPort ? { healthPort: healthPort + Number(process.env.SHARDS) } : {};
}
