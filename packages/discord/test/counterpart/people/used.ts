// One use of a command, button, menu or modal, and what the person gets back.
import {
  type APIModalInteractionResponseCallbackData,
  type InteractionResponseType,
  MessageFlags,
} from 'discord-api-types/v10';
import { hasFlag } from '../activity/interactions.ts';
import type { StoredInteraction, StoredMessage } from '../state/records.ts';
import type { World } from '../state/world.ts';
import { transcript } from './transcript.ts';
import { waitFor } from './wait-for.ts';

export class Used {
  readonly interaction: StoredInteraction;
  readonly #world: World;

  constructor(world: World, interaction: StoredInteraction) {
    this.#world = world;
    this.interaction = interaction;
  }

  /** "The application did not respond." */
  get failed(): boolean {
    return this.interaction.failed;
  }

  /** Resolves with the type of the answer. */
  answered(timeoutMs?: number): Promise<InteractionResponseType> {
    return this.#wait('an answer', timeoutMs, () => this.interaction.response);
  }

  /** Resolves with the answer when it shows more than "thinking…". */
  reply(timeoutMs?: number): Promise<StoredMessage> {
    return this.#wait('a reply', timeoutMs, () => {
      const { original } = this.interaction;
      return original && !hasFlag(original, MessageFlags.Loading) ? original : undefined;
    });
  }

  /** The n-th message after the reply. */
  followUp(index = 0, timeoutMs?: number): Promise<StoredMessage> {
    return this.#wait(`follow-up ${index}`, timeoutMs, () => this.interaction.followUps[index]);
  }

  modal(timeoutMs?: number): Promise<APIModalInteractionResponseCallbackData> {
    return this.#wait('a modal', timeoutMs, () => this.interaction.modal);
  }

  choices(timeoutMs?: number): Promise<{ name: string; value: string | number }[]> {
    return this.#wait('choices', timeoutMs, () => this.interaction.choices);
  }

  #wait<Found>(what: string, timeoutMs: number | undefined, look: () => Found | undefined): Promise<Found> {
    const { interaction } = this;
    const named = interaction.commandName ? `"${interaction.commandName}"` : 'an interaction';
    const found = () => {
      const result = look();
      if (result === undefined && interaction.failed) {
        throw new Error(`The application did not respond to ${named} in time.`);
      }
      return result;
    };
    const seen = () => transcript(interaction.channel);
    return waitFor(this.#world, found, { what: `${what} to ${named}`, seen, ...(timeoutMs && { timeoutMs }) });
  }
}
