// The slash command of the bot: shows and changes its settings in a channel.
import type { ToolContext } from '../../account/account.ts';
import { isMattermostError } from '../../base/errors.ts';
import { path } from '../../client/path.ts';
import type { MemberRecord, UserRecord } from '../../client/records.ts';
import type { SlashCommand } from './callback-server.ts';
import { type ChannelSettings, MAX_INSTRUCTIONS } from './channel-settings.ts';

const USAGE = [
  '`answers mentions`: answer mentions and replies in threads with me (default)',
  '`answers all`: answer every message in this channel',
  '`answers none`: answer nothing in this channel',
  '`instructions TEXT`: what I should know or do in this channel, from the next thread on',
  '`instructions clear`: remove them',
]
  .map((line) => `- ${line}`)
  .join('\n');

export async function answerSettingsCommand(
  context: ToolContext,
  settings: ChannelSettings,
  { userId, channelId, text }: SlashCommand,
): Promise<string> {
  if (!(await isMember(context, channelId))) return 'I am not in this channel. Add me first.';
  const [action = '', ...words] = text.trim().split(/\s+/);
  const value = words.join(' ');
  const change = changeOf(action.toLowerCase(), text.trim().slice(action.length).trim());
  if (change === undefined) return `${describe(settings, channelId)}\n\n${USAGE}`;
  if (typeof change === 'string') return change;
  if (!(await mayChange(context, { userId, channelId })))
    return 'Only administrators of the channel, the team or the server can change this.';
  await settings.change(channelId, change);
  return value === '' ? describe(settings, channelId) : `Changed. ${describe(settings, channelId)}`;
}

/** Undefined for no change; a string says what is wrong. */
function changeOf(action: string, value: string): Parameters<ChannelSettings['change']>[1] | string | undefined {
  if (action === 'answers') {
    const answers = value.toLowerCase();
    if (answers === 'mentions' || answers === 'all' || answers === 'none') return { answers };
    return 'Write `answers mentions`, `answers all` or `answers none`.';
  }
  if (action !== 'instructions' || value === '') return undefined;
  if (value.toLowerCase() === 'clear') return { instructions: '' };
  if (value.length <= MAX_INSTRUCTIONS) return { instructions: value };
  return `Instructions may have ${MAX_INSTRUCTIONS} characters; these have ${value.length}.`;
}

function describe(settings: ChannelSettings, channelId: string): string {
  const { answers, instructions } = settings.get(channelId);
  const which = { mentions: 'mentions and threads', all: 'every message', none: 'nothing' }[answers];
  return `I answer ${which} in this channel. ${instructions === '' ? 'No instructions.' : `Instructions: ${instructions}`}`;
}

async function isMember({ api }: ToolContext, channelId: string): Promise<boolean> {
  return (await orMissing(api.get(path`/channels/${channelId}/members/me`))) !== undefined;
}

/** In direct and group messages everyone in them may; elsewhere administrators. */
async function mayChange(
  { api, names }: ToolContext,
  { userId, channelId }: { userId: string; channelId: string },
): Promise<boolean> {
  const { type, team_id } = await names.channel(channelId);
  const member = await orMissing(api.get<MemberRecord>(path`/channels/${channelId}/members/${userId}`));
  if (type === 'D' || type === 'G') return member !== undefined;
  const user = await api.get<UserRecord>(path`/users/${userId}`);
  const team = team_id ? await orMissing(api.get<MemberRecord>(path`/teams/${team_id}/members/${userId}`)) : undefined;
  return hasRole(member, 'channel_admin') || hasRole(team, 'team_admin') || hasRole(user, 'system_admin');
}

function hasRole(record: { roles?: string | null | undefined } | undefined, role: string): boolean {
  return record?.roles?.split(' ').includes(role) === true;
}

async function orMissing<Value>(value: Promise<Value>): Promise<Value | undefined> {
  try {
    return await value;
  } catch (error) {
    if (isMattermostError(error) && (error.status === 403 || error.status === 404)) return undefined;
    throw error;
  }
}
