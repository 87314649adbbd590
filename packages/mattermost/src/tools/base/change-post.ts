// Changes a post. Mattermost reports a missing post as 403, so a refused change is followed by a read, which gives 404.
import type { ToolContext } from '../../account/account.ts';
import { isMattermostError } from '../../base/errors.ts';
import { path } from '../../client/path.ts';

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
