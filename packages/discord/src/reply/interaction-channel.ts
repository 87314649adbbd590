// A channel in which the bot may write only as the answer to an interaction: it is not a member of the server, or of the group.
// Discord accepts such answers for 15 minutes.
import {
  type Client,
  type InteractionReplyOptions,
  InteractionWebhook,
  type Message,
  type MessageCreateOptions,
  Routes,
  type SendableChannels,
  SnowflakeUtil,
  type WebhookMessageEditOptions,
} from 'discord.js';

/** Where answers are shown. */
export type AnswerChannel = SendableChannels | InteractionChannel;

interface InteractionOrigin {
  channelId: string;
  /** The id of the interaction. */
  id: string;
  token: string;
}

/** How long Discord accepts answers to an interaction. */
const ANSWERABLE_MS = 15 * 60_000;
/** Time to show the end of an answer. */
const LAST_EDITS_MS = 20_000;

export class InteractionChannel {
  /** The id of the Discord channel. */
  readonly id: string;
  /** Answers have to be complete at this time. */
  readonly closesAt: number;
  readonly messages: {
    edit(
      id: string,
      options: Pick<WebhookMessageEditOptions, 'content' | 'components' | 'files' | 'attachments'>,
    ): Promise<Message>;
    delete(id: string): Promise<void>;
  };
  readonly #webhook: InteractionWebhook;

  constructor(client: Client<true>, { channelId, id, token }: InteractionOrigin) {
    this.id = channelId;
    this.closesAt = SnowflakeUtil.timestampFrom(id) + ANSWERABLE_MS - LAST_EDITS_MS;
    const applicationId = client.application.id;
    const webhook = new InteractionWebhook(client, applicationId, token);
    this.#webhook = webhook;
    this.messages = {
      edit: (message, options) => webhook.editMessage(message, options),
      delete: async (message) => {
        await client.rest.delete(Routes.webhookMessage(applicationId, token, message), { auth: false });
      },
    };
  }

  /** The first answer to the interaction. */
  original(): Promise<Message> {
    return this.#webhook.fetchMessage('@original');
  }

  /** A message after the answer. Discord allows five. */
  async send(given: string | MessageCreateOptions): Promise<Message> {
    // webhooks have neither nonces nor replies
    const {
      nonce: _nonce,
      enforceNonce: _enforced,
      reply: _reply,
      ...options
    } = typeof given === 'string' ? { content: given } : given;
    return this.#webhook.send(options as InteractionReplyOptions);
  }

  /** Discord shows that the app thinks. */
  async sendTyping(): Promise<void> {}
}
