// The database of `serve --conversations`.
import { errorText, PocketError } from '@pocket-agent/kit';
import type { Conversations, ConversationsOptions } from '@pocket-agent/store';

type Options = Pick<ConversationsOptions, 'scope'>;

/** A SQLite file, which is created if it is missing, or a URL of PostgreSQL. */
export async function openServedConversations(location: string, options: Options = {}): Promise<Conversations> {
  const { openConversations } = await import('@pocket-agent/store');
  const place = isUrl(location) ? { url: location } : { file: location };
  return openConversations({ ...place, ...options }).catch((error) => {
    const text = `The conversations cannot be opened: ${errorText(error)}`;
    throw new PocketError('CONFIG_INVALID', text, { cause: error });
  });
}

export function isUrl(location: string): boolean {
  return /^\w+:\/\//.test(location);
}
