// Starts the bot on a local Discord for tests, with scripted models.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ClientOptions } from 'discord.js';
import type { LanguageModel, Logger } from 'pocket-agent';
import { type ScriptedAnswer, type ScriptedCall, ScriptedModel } from 'pocket-agent/testing';
import { onTestFinished } from 'vitest';
import { type Bot, type BotOptions, createBot } from '../../src/index.ts';
import { type DiscordOptions, type LocalDiscord, startDiscord } from '../counterpart/discord.ts';

export const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export interface Setup extends Partial<Omit<BotOptions, 'client'>> {
  /** By default a model that answers "ok". */
  model?: LanguageModel;
  world?: DiscordOptions;
  client?: Partial<ClientOptions>;
}

interface Started {
  discord: LocalDiscord;
  bot: Bot;
  options: BotOptions;
}

/** Everything is closed when the test ends. */
export async function startBot({ world, ...setup }: Setup = {}): Promise<Started> {
  const discord = await startDiscord({ rateLimits: 'none', ...world });
  onTestFinished(() => discord.close());
  const options = await botOptions(discord, setup);
  return { discord, options, bot: await runBot(options) };
}

export async function runBot(options: BotOptions): Promise<Bot> {
  const bot = createBot(options);
  onTestFinished(() => bot.close());
  await bot.start();
  return bot;
}

export async function botOptions(
  { apiUrl, token }: { apiUrl: string; token: string },
  { model = answers(() => 'ok'), client = {}, ...setup }: Setup,
): Promise<BotOptions> {
  return {
    token,
    apiUrl,
    database: { file: ':memory:' },
    models: [{ name: 'test', model, vision: true }],
    logger: quiet,
    reply: { editIntervalMs: 40 },
    closeGraceMs: 200,
    limits: { perUserPerMinute: 1000, perGuildPerMinute: 10_000, waitingPerUser: 100 },
    ...setup,
    client: {
      ...client,
      rest: { globalRequestsPerSecond: 10_000, ...client.rest },
      // skip the five seconds that discord.js waits between identifies
      ws: { buildIdentifyThrottler: async () => ({ waitForIdentify: async () => {} }) },
    },
  };
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pocket-discord-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A model that answers by a function. */
export function answers(rule: (options: LanguageModelV4CallOptions) => string | ScriptedAnswer): ScriptedModel {
  return new ScriptedModel(new Array(2_000).fill(rule));
}

/** The text of the last message with that role. */
export function lastText({ prompt }: Pick<LanguageModelV4CallOptions, 'prompt'>, role: string): string {
  const message = prompt.findLast((entry) => entry.role === role);
  return JSON.stringify(message?.content ?? '');
}

/** A model that calls the tools once and then repeats their results; without tools it answers "short". */
export function calls(...toolCalls: ScriptedCall[]): ScriptedModel {
  return answers((options) => {
    if (!options.tools) return 'short';
    return options.prompt.at(-1)?.role === 'user' ? { text: 'Let me see.', toolCalls } : `done: ${results(options)}`;
  });
}

/** Tool results since the last question. */
export function results({ prompt }: Pick<LanguageModelV4CallOptions, 'prompt'>): string {
  const from = prompt.findLastIndex(({ role }) => role === 'user');
  return JSON.stringify(prompt.slice(from + 1).flatMap(({ role, content }) => (role === 'tool' ? content : [])));
}

/** A model whose words the test releases. */
export class PacedModel implements LanguageModel {
  readonly specificationVersion = 'v4';
  readonly provider = 'paced';
  readonly modelId = 'paced';
  readonly supportedUrls = {};
  readonly calls: LanguageModelV4CallOptions[] = [];
  readonly #streams: ReadableStreamDefaultController<LanguageModelV4StreamPart>[] = [];
  readonly #waiting: { count: number; resolve(): void }[] = [];
  aborted = 0;

  /** Resolves after this number of calls. */
  called(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ count, resolve });
      this.#tell();
    });
  }

  #tell(): void {
    for (const { count, resolve } of this.#waiting) if (this.calls.length >= count) resolve();
  }

  async doGenerate(): Promise<never> {
    throw new Error('PacedModel only streams.');
  }

  async doStream(options: LanguageModelV4CallOptions) {
    this.calls.push(options);
    const stream = new ReadableStream<LanguageModelV4StreamPart>({
      start: (controller) => {
        controller.enqueue({ type: 'stream-start', warnings: [] });
        controller.enqueue({ type: 'text-start', id: '1' });
        this.#streams.push(controller);
        const abort = () => {
          this.aborted++;
          controller.error(options.abortSignal?.reason);
        };
        if (options.abortSignal?.aborted) abort();
        else options.abortSignal?.addEventListener('abort', abort);
      },
    });
    this.#tell();
    return { stream };
  }

  say(delta: string, call = 0): void {
    this.#streams[call]?.enqueue({ type: 'text-delta', id: '1', delta });
  }

  end(call = 0): void {
    const stream = this.#streams[call];
    stream?.enqueue({ type: 'text-end', id: '1' });
    stream?.enqueue({
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: {
        inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 5, text: 5, reasoning: 0 },
      },
    });
    stream?.close();
  }
}
