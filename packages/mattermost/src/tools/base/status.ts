// The status of a user: presence and custom status.
import { isRecord } from '@pocket-agent/kit';
import type { ToolContext } from '../../account/account.ts';
import { parseObject } from '../../base/json.ts';
import { path } from '../../client/path.ts';
import type { StatusRecord, UserRecord } from '../../client/records.ts';
import { type Compact, isoTime, omitEmpty } from './compact.ts';
import { record } from './schemas.ts';

export const status = record('user_id', 'status', 'manual', 'last_activity', 'dnd_until', 'custom');

export async function presentStatus({ api }: ToolContext, userId: string): Promise<Compact> {
  // Mattermost reports unknown users as offline; reading the user gives 404
  const user = await api.get<UserRecord>(path`/users/${userId}`);
  const found = await api.get<StatusRecord>(path`/users/${userId}/status`);
  const isTimed = found.status === 'dnd' && found.dnd_end_time;
  return omitEmpty({
    user_id: found.user_id,
    status: found.status,
    manual: found.manual,
    last_activity: isoTime(found.last_activity_at),
    dnd_until: isTimed ? isoTime((found.dnd_end_time ?? 0) * 1000) : undefined,
    custom: customStatus(user),
  });
}

/** An ended status stays in the props; the zero time of Go means that it does not end. */
function customStatus({ props }: UserRecord): Compact | undefined {
  const custom = parseObject(props?.customStatus);
  if (!isRecord(custom)) return undefined;
  const end = typeof custom.expires_at === 'string' ? Date.parse(custom.expires_at) : 0;
  if (end > 0 && end <= Date.now()) return undefined;
  const { emoji, text } = custom;
  const shown = omitEmpty({ emoji, text, until: isoTime(end) });
  return Object.keys(shown).length > 0 ? shown : undefined;
}
