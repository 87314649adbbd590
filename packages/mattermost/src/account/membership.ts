// Checks that an account is a member of a channel, for requests that Mattermost grants only to members.

import { isMattermostError, MattermostError } from '../base/errors.ts';
import type { MattermostApi } from '../client/api.ts';
import { path } from '../client/path.ts';
import type { MemberRecord } from '../client/records.ts';

/** `why` starts the error message for accounts that are not members. */
export async function requireMember(api: MattermostApi, channelId: string, why: string): Promise<MemberRecord> {
  try {
    return await api.get<MemberRecord>(path`/channels/${channelId}/members/me`);
  } catch (error) {
    const isMissing = isMattermostError(error) && (error.status === 403 || error.status === 404);
    if (!isMissing) throw error;
    const text = `Refused: ${why}, and this account is not a member. Use join_channel or ask for the account to be added, then try again.`;
    throw new MattermostError('REFUSED', text);
  }
}
