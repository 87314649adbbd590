// What Mattermost grants only to members of a channel, told before it is asked for.

import { isMattermostError, MattermostError } from '../base/errors.ts';
import type { MattermostApi } from '../client/api.ts';
import { path } from '../client/path.ts';
import type { MemberRecord } from '../client/records.ts';

/** `why` begins the text for an account that is not a member. */
export async function requireMember(api: MattermostApi, channelId: string, why: string): Promise<MemberRecord> {
  try {
    return await api.get<MemberRecord>(path`/channels/${channelId}/members/me`);
  } catch (error) {
    const isMissing = isMattermostError(error) && (error.status === 403 || error.status === 404);
    if (!isMissing) throw error;
    const text = `Refused: ${why}, and this account is not one. Use join_channel, or have the account added, then try again.`;
    throw new MattermostError('REFUSED', text);
  }
}
