// Checks of a message before it is sent: its thread and its files.
import type { ToolContext } from '../../account/account.ts';
import { isMattermostError, MattermostError } from '../../base/errors.ts';
import { path } from '../../client/path.ts';
import type { FileRecord, PostRecord } from '../../client/records.ts';

/** Mattermost attaches a file to only one message of its uploader and drops other files silently. */
export async function requireAttachable(context: ToolContext, fileId: string): Promise<void> {
  await context.policy.requireFile(fileId, 'read');
  const { post_id, user_id } = await context.api.get<FileRecord>(path`/files/${fileId}/info`);
  const reason = post_id
    ? `is already attached to message ${post_id}`
    : user_id && user_id !== (await context.names.me()).id
      ? 'was uploaded by another account'
      : undefined;
  if (reason === undefined) return;
  const text = `file_ids: ${fileId} ${reason}, so Mattermost would drop it. Upload it again with upload_file.`;
  throw new MattermostError('ARGUMENTS_INVALID', text);
}

/** Returns the first post of a thread. Models often give the last one, which Mattermost does not accept. */
export async function findRoot({ api, policy }: ToolContext, postId: string, channelId: string): Promise<string> {
  const posts = await api.get<PostRecord>(path`/posts/${postId}`).then(
    (post) => [post],
    (error) => {
      if (isMattermostError(error, 'NOT_FOUND')) return [];
      throw error;
    },
  );
  const [found] = await policy.filterReadable(posts, ({ channel_id }) => channel_id);
  if (!found) {
    const text = `Resource not found: message ${postId} does not exist. Check root_id; get valid ids from channel or search tools.`;
    throw new MattermostError('NOT_FOUND', text);
  }
  if (found.channel_id && found.channel_id !== channelId) {
    const text = `root_id ${postId} is in channel ${found.channel_id}, not in ${channelId}; use the channel of the thread.`;
    throw new MattermostError('ARGUMENTS_INVALID', text);
  }
  return found.root_id || found.id;
}
