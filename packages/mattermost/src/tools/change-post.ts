// Changing a post. Mattermost refuses one that is not there with 403, as if only the permission were missing.
import type { ToolContext } from '../account/caller.ts';
import { isMattermostError } from '../base/errors.ts';
import { path } from '../client/path.ts';

export async function changePost<Result>(
  context: ToolContext,
  postId: string,
  change: (context: ToolContext) => Promise<Result>,
): Promise<Result> {
  await context.policy.requirePost(postId, 'write');
  try {
    return await change(context);
  } catch (error) {
    if (isMattermostError(error) && error.status === 403) await context.api.get(path`/posts/${postId}`);
    throw error;
  }
}
