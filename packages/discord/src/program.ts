// The program: a bot from the environment, or with --shards N one process for each shard; ends with an exit code.
import { parseArgs } from 'node:util';
import { outlastReaders } from '@pocket-agent/http/output';
import type { Logger } from 'pocket-agent';
import { DiscordBotError, kindOf, messageOf } from './base/errors.ts';
import { jsonLogger } from './base/logger.ts';
import { readEnvironment } from './config/environment.ts';
import type { BotOptions } from './config/options.ts';
import { FIVE_STEPS } from './setup-steps.ts';
import { stopSignal, whenAborted } from './stop-signal.ts';

const HELP = `Usage: pocket-discord [--shards N]

  --shards N   N processes, one for each shard; without it discord.js decides, in one process
  --help

The environment says the rest: DISCORD_TOKEN, POCKET_DISCORD_MODELS, DATABASE_URL, …; see docs/discord.md.
`;
/** Those who tell a process to end kill it after ten seconds; a bot takes less when all goes well. */
const LAST_RESORT_MS = 9_800;
const HURRIED = 130;
/** What other bots call the token. */
const OTHER_NAME = /^(DISCORD_?\w*TOKEN|BOT_TOKEN)$/i;

/** `program` is what a shard runs. */
export async function runProgram(program: string): Promise<number> {
  outlastReaders();
  process.on('error', () => {}); // nor is a parent that is gone
  try {
    return await run(program);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return isConfiguration(error) ? 2 : 1;
  }
}

function isConfiguration(error: unknown): boolean {
  if (error instanceof DiscordBotError) return error.code === 'CONFIG_INVALID';
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

async function run(program: string): Promise<number> {
  const { values } = parseArgs({ options: { shards: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const options = readAll();
  if (values.shards === undefined) return runBot(options);
  const { runShards } = await import('./shards.ts');
  const { token, apiUrl, logger = jsonLogger() } = options;
  return runShards({ token, apiUrl, logger, count: values.shards, program });
}

/** Whoever has no token yet learns of all else that is wrong at the same time. */
function readAll(): BotOptions {
  const token = process.env.DISCORD_TOKEN?.trim();
  try {
    const options = readEnvironment(process.env);
    if (token) return { token, ...options };
  } catch (error) {
    if (token) throw error;
    throw new DiscordBotError('CONFIG_INVALID', `${withoutToken()}\nThis is wrong as well:\n${messageOf(error)}`);
  }
  throw new DiscordBotError('CONFIG_INVALID', withoutToken());
}

function withoutToken(): string {
  const other = Object.keys(process.env).find((name) => name !== 'DISCORD_TOKEN' && OTHER_NAME.test(name));
  return other === undefined ? FIVE_STEPS : `${other} is set; did you mean DISCORD_TOKEN?\n\n${FIVE_STEPS}`;
}

async function runBot(options: BotOptions): Promise<number> {
  const isShard = process.env.SHARDING_MANAGER !== undefined;
  // the terminal and the parent both tell a shard; the parent knows when it has to be at once
  const stop = stopSignal(() => isShard || process.exit(HURRIED));
  tellForgotten(options.logger ?? jsonLogger());
  const { createBot } = await import('./bot.ts');
  const bot = createBot({ ...options, ...(isShard ? ofShard(options) : { client: { shards: 'auto' } }) });
  const starting = bot.start();
  const stopped = whenAborted(stop);
  await Promise.race([starting, stopped]);
  const failure = await Promise.race([stopped.then(() => undefined), bot.lost]);
  setTimeout(() => process.exit(1), LAST_RESORT_MS).unref();
  await bot.close();
  await starting.catch(() => {}); // it was given up
  if (failure) throw failure;
  return 0;
}

/** A promise that a tool forgot is no reason to end the conversations of everybody else. */
function tellForgotten(logger: Logger): void {
  process.on('unhandledRejection', (error) => {
    logger.error('A promise that nobody waited for failed', kindOf(error));
    logger.debug('What it failed with', { reason: messageOf(error) });
  });
}

/** discord.js tells a child by itself which shard it is; each has a health endpoint of its own. */
function ofShard({ healthPort }: BotOptions): Pick<BotOptions, 'healthPort'> {
  return healthPort ? { healthPort: healthPort + Number(process.env.SHARDS) } : {};
}
