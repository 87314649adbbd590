// Slash commands: a few built-in ones, and custom ones, which another program answers.
import { type Call, isFields, ok, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, notFound } from '../world/api-error.ts';
import type { Channel } from '../world/model.ts';
import { storePost } from '../world/store-post.ts';

interface Command {
  trigger: string;
  hint: string;
  description: string;
  /** Returns the text for the user. */
  run(call: Call, given: { channel: Channel; message: string; rootId: string }): string;
}

const commands: readonly Command[] = [
  {
    trigger: 'shrug',
    hint: '[message]',
    description: 'Adds ¯\\_(ツ)_/¯ to your message',
    run(call, { channel, message, rootId }) {
      storePost(call.world, channel, { user: call.user, message: `${message} ¯\\_(ツ)_/¯`.trim(), rootId });
      return '';
    },
  },
  {
    trigger: 'header',
    hint: '[text]',
    description: 'Edit the channel header',
    run(_call, { channel, message }) {
      channel.header = message;
      return 'Channel header updated.';
    },
  },
];

/** Custom commands get a form and answer with JSON. */
async function executeCustom(
  { world, user }: Call,
  { channel, trigger, message }: { channel: Channel; trigger: string; message: string },
): Promise<string | undefined> {
  const custom = world.customCommands.get(trigger);
  if (!custom) return undefined;
  const form = new URLSearchParams({
    ...{ channel_id: channel.id, channel_name: channel.name, command: `/${trigger}`, response_url: '' },
    ...{ team_domain: '', team_id: channel.team_id, text: message, token: custom.token },
    ...{ trigger_id: world.newId(), user_id: user.id, user_name: user.username },
  });
  const response = await fetch(custom.url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Authorization: `Token ${custom.token}` },
    body: form.toString(),
  });
  const answer: unknown = await response.json();
  if (response.status === 200 && isFields(answer)) return text(answer, 'text');
  throw new ApiError(500, 'api.command.execute_command.failed.app_error', {
    message: `Command with a trigger of '${trigger}' failed.`,
  });
}

async function execute(call: Call): Promise<Record<string, unknown>> {
  const { world, user } = call;
  const body = call.fields('command_args');
  const command = text(body, 'command');
  const channelId = text(body, 'channel_id');
  if (command.length <= 1 || !command.startsWith('/') || !/^[a-z0-9]{26}$/i.test(channelId)) {
    throw new ApiError(400, 'api.command.execute_command.start.app_error', { message: 'No command trigger found.' });
  }
  if (!world.channels.has(channelId) || !world.member(channelId, user.id)) throw forbidden('create_post');
  const channel = world.channel(channelId);
  if (channel.delete_at) {
    throw new ApiError(400, 'api.command.execute_command.deleted.error', {
      message: 'Can not run command in deleted channel.',
    });
  }
  const [, trigger = '', message = ''] = /^\/(\S+)\s?(.*)$/s.exec(command) ?? [];
  const custom = await executeCustom(call, { channel, trigger: trigger.toLowerCase(), message });
  const known = commands.find((one) => one.trigger === trigger.toLowerCase());
  const answer = custom ?? known?.run(call, { channel, message, rootId: text(body, 'root_id') });
  if (answer === undefined) {
    throw notFound(
      'api.command.execute_command.not_found.app_error',
      `Command with a trigger of '${trigger}' not found. To send a message beginning with "/", try adding an empty space at the beginning of the message.`,
    );
  }
  return {
    response_type: 'ephemeral',
    text: answer,
    username: '',
    channel_id: '',
    icon_url: '',
    type: '',
    props: null,
    goto_location: '',
    trigger_id: world.newId(),
    skip_slack_parsing: false,
    attachments: null,
    extra_responses: null,
  };
}

export const commandRoutes: Routes = {
  'POST /commands/execute': async (call) => ok(await execute(call)),
  'GET /teams/{team_id}/commands/autocomplete': (call) => {
    const team = call.world.teamFor(call.user, call.param('team_id'));
    return ok(
      commands.map(({ trigger, hint, description }) => ({
        id: '',
        token: '',
        create_at: 0,
        team_id: team.id,
        trigger,
        auto_complete: true,
        auto_complete_desc: description,
        auto_complete_hint: hint,
        display_name: trigger,
      })),
    );
  },
};
