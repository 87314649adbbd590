// Prompts that the bot asks itself at certain times. `@pocket-agent/runs` starts a run at each time, once for all processes; the
// run adds a question to the queue of the bot, once however often it is repeated.
import { randomUUID } from 'node:crypto';
import { errorText } from '@pocket-agent/kit';
import type { Runs, Schedule } from '@pocket-agent/runs';
import { isPocketError, type Logger } from 'pocket-agent';
import { DiscordBotError } from '../base/errors.ts';
import type { Claims } from '../store/claims.ts';
import { conversationKey, type Place } from '../store/conversation-key.ts';
import type { SettingsStore } from '../store/guild-settings.ts';
import type { BotDatabase, DatabaseLocation } from '../store/schema.ts';
import { askingAgent, type ScheduledRun } from './asking-agent.ts';

/** Also the most choices that Discord offers for an option. */
export const MAX_PER_PLACE = 25;
const DIRECT = 'dm';
const CLOSE_MS = 1_000;
const KEPT_MS = 7 * 24 * 3_600_000;

export interface ScheduledPrompt extends Place {
  id: string;
  prompt: string;
  cron: string;
  timeZone: string;
  nextAt: Date;
}

interface ScheduledPromptsOptions {
  /** The id of the bot. Several bots can share a database. */
  botId: string;
  location: DatabaseLocation;
  db: BotDatabase;
  claims: Claims;
  settings: SettingsStore;
  logger: Logger;
  /** A question was added to a conversation. */
  onAsked(question: { conversation: string; guildId: string | null }): void;
}

export class ScheduledPrompts {
  readonly #options: ScheduledPromptsOptions;
  #runs: Promise<Runs> | undefined;
  #isClosed = false;
  /** Why the runs could not be opened, as it was logged. */
  #problem = '';

  constructor(options: ScheduledPromptsOptions) {
    this.#options = options;
  }

  /** Begins to ask what is due, if this bot has schedules. A bot without schedules opens no runs. */
  async openIfUsed(): Promise<void> {
    const { db, botId, logger } = this.#options;
    if (this.#runs || this.#isClosed) return;
    const bot = await db.selectFrom('discord_bots').select('schedules').where('id', '=', botId).executeTakeFirst();
    if (!bot?.schedules) return;
    await this.#open().catch((error) => {
      const reason = errorText(error);
      if (reason !== this.#problem) logger.error('Scheduled prompts do not run', { reason });
      this.#problem = reason;
    });
  }

  /** Asks the prompt of a user at each time. Throws what to tell the user. */
  async add({ cron, timeZone, prompt, ...place }: Omit<ScheduledPrompt, 'id' | 'nextAt'>): Promise<ScheduledPrompt> {
    const { botId, db } = this.#options;
    if ((await this.list(place)).length >= MAX_PER_PLACE)
      throw refusal(`There are ${MAX_PER_PLACE} schedules here already. Remove one first.`);
    const runs = await this.#open();
    const id = randomUUID().slice(0, 8);
    const name = `${this.#prefixOf(place)}${place.channelId}/${id}`;
    const agent = this.#agent;
    try {
      await runs.schedule(name, { cron, timeZone, agent, input: prompt, caller: place.userId, missed: 'once' });
    } catch (error) {
      if (!isPocketError(error, 'CONFIG_INVALID')) throw error;
      throw refusal(`These times cannot be used: \`${cron}\` in ${timeZone}.`);
    }
    await db
      .insertInto('discord_bots')
      .values({ id: botId, schedules: 1 })
      .onConflict((same) => same.column('id').doUpdateSet({ schedules: 1 }))
      .execute();
    const added = (await runs.schedules({ prefix: name })).map(readSchedule);
    if (!added[0]) throw refusal('This schedule was removed at the same moment.');
    return added[0];
  }

  /** The schedules of a guild, or those of a user in direct messages. */
  async list(place: Pick<Place, 'guildId' | 'userId'>): Promise<ScheduledPrompt[]> {
    if (!this.#runs) await this.openIfUsed();
    const schedules = (await (await this.#runs)?.schedules({ prefix: this.#prefixOf(place) })) ?? [];
    return schedules.map(readSchedule).filter(({ userId }) => place.guildId !== null || userId === place.userId);
  }

  /** False if there is no such schedule any more. */
  async remove({ guildId, channelId, id }: Pick<ScheduledPrompt, 'guildId' | 'channelId' | 'id'>): Promise<boolean> {
    const runs = await this.#runs;
    return (await runs?.unschedule(`${this.#prefixOf({ guildId })}${channelId}/${id}`)) ?? false;
  }

  /** Removes the schedule that started a run. */
  async removeOf(run: string): Promise<void> {
    await (await this.#runs)?.unschedule(scheduleOf(run));
  }

  /** Removes the schedules of a guild, or of one of its channels. */
  async removeIn({ guildId, channelId }: { guildId: string; channelId?: string }): Promise<void> {
    const runs = await this.#runs;
    const prefix = `${this.#prefixOf({ guildId })}${channelId === undefined ? '' : `${channelId}/`}`;
    for (const { name } of (await runs?.schedules({ prefix })) ?? []) await runs?.unschedule(name);
  }

  /** The guilds with schedules of this bot. */
  async guilds(): Promise<Set<string>> {
    const schedules = (await (await this.#runs)?.schedules({ prefix: `discord/${this.#options.botId}/` })) ?? [];
    return new Set(schedules.flatMap((schedule) => readSchedule(schedule).guildId ?? []));
  }

  /** Deletes the journals of runs that were over a week ago. */
  async deleteOld(): Promise<void> {
    await (await this.#runs)?.purge(KEPT_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const runs = await this.#runs?.catch(() => undefined);
    await runs?.close({ graceMs: CLOSE_MS });
  }

  get #agent(): string {
    return `discord-${this.#options.botId}`;
  }

  #prefixOf({ guildId }: Pick<Place, 'guildId'>): string {
    return `discord/${this.#options.botId}/${guildId ?? DIRECT}/`;
  }

  async #open(): Promise<Runs> {
    if (this.#isClosed) throw refusal('I am restarting. Try again in a moment.');
    this.#runs ??= this.#openRuns();
    try {
      return await this.#runs;
    } catch (error) {
      this.#runs = undefined;
      throw error;
    }
  }

  async #openRuns(): Promise<Runs> {
    const { location, logger } = this.#options;
    const { openRuns } = await import('@pocket-agent/runs'); // most bots have no schedules
    const url = location.url ?? `sqlite:${location.file}`;
    const agents = { [this.#agent]: () => askingAgent((run) => this.#ask(run)) };
    return openRuns({ url, agents, logger }).catch((cause: unknown) => {
      if (!isPocketError(cause, 'CONFIG_INVALID')) throw cause;
      const text = 'The operator of this bot has not set up schedules: on PostgreSQL they need the package pg-boss.';
      throw new DiscordBotError('REFUSED', text, { cause });
    });
  }

  async #ask({ id, prompt, userId }: ScheduledRun): Promise<void> {
    const { claims, settings, onAsked } = this.#options;
    const { guildId, channelId } = placeOf(scheduleOf(id));
    const conversation = conversationKey({ guildId, channelId, userId }, (await settings.get(guildId)).scope);
    const place = { conversation, channel_id: channelId, guild_id: guildId, user_id: userId };
    const request = JSON.stringify({ text: prompt });
    const isFirst = await claims.addScheduled({ ...place, kind: 'scheduled', request, run: id });
    if (isFirst) onAsked({ conversation, guildId });
  }
}

function scheduleOf(run: string): string {
  return run.slice(0, run.lastIndexOf('@'));
}

function placeOf(name: string): Pick<ScheduledPrompt, 'guildId' | 'channelId' | 'id'> {
  const [guild = '', channelId = '', id = ''] = name.split('/').slice(2);
  return { guildId: guild === DIRECT ? null : guild, channelId, id };
}

function readSchedule({ name, input, caller = '', cron, timeZone = 'UTC', nextAt }: Schedule): ScheduledPrompt {
  const prompt = typeof input === 'string' ? input : input.text;
  return { ...placeOf(name), prompt, userId: caller, cron, timeZone, nextAt: new Date(nextAt) };
}

function refusal(text: string): DiscordBotError {
  return new DiscordBotError('REFUSED', text);
}
