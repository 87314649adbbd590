// Who a text mentions, and who is notified under `allowed_mentions`.
import type { APIAllowedMentions } from 'discord-api-types/v10';
import { invalidForm } from '../state/api-error.ts';
import { can } from '../state/permissions.ts';
import type { Channel, Pinged, StoredMessage } from '../state/records.ts';
import type { World } from '../state/world.ts';

interface MentionContext {
  channel: Channel;
  authorId: string;
  content: string;
  allowed?: APIAllowedMentions | undefined;
  /** Answers to interactions notify only users by default. */
  isAnswer?: boolean;
  repliedTo?: StoredMessage | undefined;
}

/** The mentions in a text, outside of code. */
function namedIn(content: string): Pinged {
  const text = content.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '');
  const ids = (pattern: RegExp) => [...new Set([...text.matchAll(pattern)].flatMap((match) => match[1] ?? []))];
  return { users: ids(/<@!?(\d+)>/g), roles: ids(/<@&(\d+)>/g), everyone: /@(everyone|here)\b/.test(text) };
}

export function pingedBy(world: World, context: MentionContext): Pinged {
  const { channel, authorId, content, allowed, isAnswer = false, repliedTo } = context;
  checkAllowedMentions(allowed);
  const named = namedIn(content);
  const guild = world.guildOf(channel);
  const mayMentionAll = can(world, { userId: authorId, channel, permission: 'MentionEveryone' });
  const usual = isAnswer ? ['users'] : ['users', 'roles', 'everyone'];
  const parse: readonly string[] = allowed ? (allowed.parse ?? []) : usual;
  const chosen = (kind: 'users' | 'roles', ids: string[]) =>
    parse.includes(kind) ? ids : ids.filter((id) => allowed?.[kind]?.includes(id));
  const users = chosen('users', named.users).filter((id) => (guild ? guild.members : world.users).has(id));
  if (repliedTo && (allowed ? allowed.replied_user === true : true)) users.push(repliedTo.author.id);
  return {
    users: [...new Set(users)],
    roles: chosen('roles', named.roles).filter((id) => guild?.roles.get(id)?.mentionable || (guild && mayMentionAll)),
    everyone: named.everyone && parse.includes('everyone') && guild !== undefined && mayMentionAll,
  };
}

function checkAllowedMentions(allowed: APIAllowedMentions | undefined): void {
  for (const kind of ['users', 'roles'] as const) {
    const ids = allowed?.[kind] ?? [];
    if (ids.length > 0 && allowed?.parse?.some((type) => type === kind)) {
      throw invalidForm({
        allowed_mentions: `MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE: parse:["${kind}"] and ${kind}: [ids...] are mutually exclusive.`,
      });
    }
    if (ids.length > 100) {
      throw invalidForm({ [`allowed_mentions.${kind}`]: 'BASE_TYPE_MAX_LENGTH: Must be 100 or fewer in length.' });
    }
  }
}
