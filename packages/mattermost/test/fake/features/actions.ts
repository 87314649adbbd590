// Buttons of interactive messages: a click is sent to the URL of the button.
import { type Call, isFields, ok } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, notFound } from '../world/api-error.ts';
import type { Post } from '../world/model.ts';

/** Buttons of a post, with the integrations that clients do not see. */
export function actionsOf({ props }: Pick<Post, 'props'>): Record<string, unknown>[] {
  const attachments = Array.isArray(props.attachments) ? props.attachments : [];
  return attachments.flatMap((one) =>
    isFields(one) && Array.isArray(one.actions) ? one.actions.filter(isFields) : [],
  );
}

async function click(call: Call): Promise<Record<string, unknown>> {
  const { world, user } = call;
  const post = world.post(call.param('post_id'));
  const channel = world.readable(user, post.channel_id);
  // other ids have no route in the real server
  if (!/^[A-Za-z0-9]+$/.test(call.param('action'))) throw notFound('api.context.404.app_error', 'Not found');
  const action = actionsOf(post).find(({ id }) => id === call.param('action'));
  const integration = isFields(action?.integration) ? action.integration : undefined;
  if (!integration) throw notFound('api.post.do_action.action_id.app_error', 'Invalid action id.');
  const response = await fetch(String(integration.url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({
      ...{ user_id: user.id, user_name: user.username, channel_id: channel.id, channel_name: channel.name },
      ...{ team_id: channel.team_id, team_domain: '', post_id: post.id, trigger_id: world.newId() },
      ...{ type: 'button', data_source: '', context: integration.context },
    }),
  }).catch(() => undefined);
  if (response?.status !== 200) {
    throw new ApiError(400, 'api.post.do_action.action_integration.app_error', {
      message: 'Action integration error.',
      detail: response ? `status=${response.status}` : 'unreachable',
    });
  }
  // the text is sent to the user as an ephemeral post; here it is part of the response
  const answer: unknown = await response.json();
  return { status: 'OK', trigger_id: world.newId(), ...(isFields(answer) ? answer : {}) };
}

export const actionRoutes: Routes = {
  'POST /posts/{post_id}/actions/{action}': async (call) => ok(await click(call)),
};
