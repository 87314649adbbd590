// Requests of a login, whose addresses the MCP server names: one on the internet cannot send us to inner addresses.
import type { FetchLike } from '@modelcontextprotocol/client';
import { isPublicHost } from '@pocket-agent/http/fetch';
import { PocketError } from '@pocket-agent/kit';

/** `fetchOwn` is for the origin of the server, `fetch` for all others. */
export function loginFetch(server: URL, fetchOwn: FetchLike, fetch: FetchLike): FetchLike {
  return async (to, init) => {
    const target = new URL(to);
    if (target.origin === server.origin) return fetchOwn(to, init);
    if ((await isPublicHost(server.hostname)) && !(await isPublicHost(target.hostname))) {
      const text = `${server.host} wants its login at ${target.host}, which has no public address; it was not called.`;
      throw new PocketError('MCP_CONNECT_FAILED', text);
    }
    return fetch(to, init);
  };
}
