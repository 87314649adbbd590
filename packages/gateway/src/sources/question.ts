// Questions of servers for the person at the client.
import { APPROVAL_META_KEY } from 'pocket-agent/internal';

/** Says who asks, and does not pass for a question of the gateway. */
export function asQuestion<Params extends { message: string; _meta?: Record<string, unknown> | undefined }>(
  server: string,
  { _meta: meta = {}, ...params }: Params,
): Params {
  const { [APPROVAL_META_KEY]: _approval, ...others } = meta;
  return { ...params, _meta: others, message: `[${server}] ${params.message}` } as Params;
}
