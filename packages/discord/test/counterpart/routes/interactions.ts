// REST: answers to interactions, and follow-ups over their webhook.
import {
  InteractionResponseType as Answer,
  type APIInteractionResponse,
  InteractionType,
  MessageFlags,
} from 'discord-api-types/v10';
import { hasFlag, isOfComponent } from '../activity/interactions.ts';
import { createMessage, deleteMessage, editMessage } from '../activity/messages.ts';
import type { Call, Routes } from '../http/call.ts';
import { checkModal } from '../rules/component-rules.ts';
import { Form } from '../rules/form.ts';
import type { MessageBody } from '../rules/message-rules.ts';
import {
  ApiError,
  alreadyAcknowledged,
  invalidForm,
  invalidWebhookToken,
  tooManyFollowUps,
  unknownInteraction,
  unknownMessage,
  unknownWebhook,
} from '../state/api-error.ts';
import { can } from '../state/permissions.ts';
import type { StoredInteraction, StoredMessage, UploadedFile } from '../state/records.ts';
import { messageJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';

/** For apps that a user has installed, where the bot is not a member. */
const MAX_EXTERNAL_FOLLOW_UPS = 5;

export function interactionRoutes(world: World): Routes {
  return {
    'POST /interactions/:interaction/:token/callback': (call) => {
      const interaction = world.interactions.get(call.param('interaction'));
      if (!interaction || interaction.token !== call.param('token') || interaction.failed) throw unknownInteraction();
      if (interaction.response !== undefined) throw alreadyAcknowledged();
      const body = call.json<APIInteractionResponse>();
      checkFits(interaction, body.type);
      answer(world, { interaction, body, files: call.files });
      interaction.response = body.type;
      interaction.respondedAt = world.now();
      clearTimeout(interaction.timer);
      world.changed();
      return call.query.get('with_response') === 'true' ? callbackJson(world, interaction) : undefined;
    },
    'POST /webhooks/:webhook/:token': (call) => {
      const interaction = byToken(world, call);
      return messageJson(world, followUp(world, { interaction, body: call.json(), files: call.files }));
    },
    'GET /webhooks/:webhook/:token/messages/:message': (call) => messageJson(world, ownMessage(world, call)),
    'PATCH /webhooks/:webhook/:token/messages/:message': (call) =>
      messageJson(world, editMessage(world, ownMessage(world, call), { body: call.json(), files: call.files })),
    'DELETE /webhooks/:webhook/:token/messages/:message': (call) => {
      deleteMessage(world, ownMessage(world, call));
      return undefined;
    },
  };
}

interface Reply<Body> {
  interaction: StoredInteraction;
  body: Body;
  files: readonly UploadedFile[];
}

function checkFits(interaction: StoredInteraction, type: Answer): void {
  const autocomplete = interaction.type === InteractionType.ApplicationCommandAutocomplete;
  const onlyComponents = type === Answer.DeferredMessageUpdate || type === Answer.UpdateMessage;
  const fits =
    autocomplete === (type === Answer.ApplicationCommandAutocompleteResult) &&
    !(onlyComponents && !isOfComponent(interaction)) &&
    !(type === Answer.Modal && interaction.type === InteractionType.ModalSubmit);
  if (!fits) {
    throw invalidForm({ type: `INTERACTION_RESPONSE_TYPE_INVALID: ${type} does not answer this kind of interaction.` });
  }
}

function answer(world: World, { interaction, body, files }: Reply<APIInteractionResponse>): void {
  const { channel, user, source } = interaction;
  const send = (data: MessageBody, loading: boolean) =>
    createMessage(world, {
      channel,
      author: world.bot,
      body: visibleTo(world, interaction, data),
      files,
      interaction,
      loading,
    });
  switch (body.type) {
    case Answer.ChannelMessageWithSource:
      interaction.original = insideData(() => send(body.data, false));
      return;
    case Answer.DeferredChannelMessageWithSource:
      interaction.original = send({ ...body.data }, true);
      return;
    case Answer.UpdateMessage:
      if (source) insideData(() => editMessage(world, source, { body: messageBody(body.data), files }));
      return;
    case Answer.ApplicationCommandAutocompleteResult: {
      const choices = body.data.choices ?? [];
      const form = new Form();
      form.list('data.choices', choices, { max: 25 });
      choices.forEach((choice, index) => {
        form.text(`data.choices.${index}.name`, choice.name, { min: 1, max: 100 });
        if (typeof choice.value === 'string')
          form.text(`data.choices.${index}.value`, choice.value, { min: 1, max: 100 });
      });
      form.done();
      interaction.choices = choices;
      return;
    }
    case Answer.Modal:
      checkModal(body.data);
      interaction.modal = body.data;
      world.show({ kind: 'modal', channel, user, interaction });
      return;
    default:
      return;
  }
}

/** In an update, null clears a field. */
function messageBody(data: object | undefined): MessageBody {
  return { ...data };
}

function insideData<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof ApiError) || !error.errors) throw error;
    throw new ApiError(error.status, error.code, { message: error.message, errors: { data: error.errors } });
  }
}

/** Without the permission to use external apps, others do not see their answers. */
function visibleTo(world: World, { isExternal, channel, user }: StoredInteraction, body: MessageBody): MessageBody {
  const isAlone = isExternal && !can(world, { userId: user.id, channel, permission: 'UseExternalApps' });
  return isAlone ? { ...body, flags: (body.flags ?? 0) | MessageFlags.Ephemeral } : body;
}

function followUp(world: World, { interaction, body, files }: Reply<MessageBody>): StoredMessage {
  const { channel, original } = interaction;
  // the first follow-up replaces a deferred answer and keeps its visibility
  if (original && original.deletedAt === undefined && hasFlag(original, MessageFlags.Loading)) {
    return editMessage(world, original, { body, files });
  }
  if (interaction.isExternal && interaction.followUps.length >= MAX_EXTERNAL_FOLLOW_UPS) throw tooManyFollowUps();
  const seen = visibleTo(world, interaction, body);
  const message = createMessage(world, { channel, author: world.bot, body: seen, files, interaction });
  interaction.followUps.push(message);
  return message;
}

function byToken(world: World, call: Call): StoredInteraction {
  const token = call.param('token');
  const interaction = [...world.interactions.values()].find((one) => one.token === token);
  if (!interaction || world.now() - interaction.createdAt > world.limits.interactionTokenMs)
    throw invalidWebhookToken();
  if (interaction.response === undefined) throw unknownWebhook();
  return interaction;
}

function ownMessage(world: World, call: Call): StoredMessage {
  const interaction = byToken(world, call);
  const id = call.param('message');
  const original = interaction.original ?? (interaction.modal ? undefined : interaction.source);
  const message =
    id === '@original' ? original : [original, ...interaction.followUps].find((candidate) => candidate?.id === id);
  if (!message || message.deletedAt !== undefined) throw unknownMessage();
  return message;
}

function callbackJson(world: World, { id, type, original, source, response }: StoredInteraction): object {
  const updated = response === Answer.UpdateMessage ? source : undefined;
  const message = original ?? updated;
  return {
    interaction: {
      id,
      type,
      ...(message && {
        response_message_id: message.id,
        response_message_loading: hasFlag(message, MessageFlags.Loading),
        response_message_ephemeral: message.onlyFor !== undefined,
      }),
    },
    resource: { type: response, ...(message && { message: messageJson(world, message) }) },
  };
}
