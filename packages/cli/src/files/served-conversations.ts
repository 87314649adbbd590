// Databases of conversations: the one of `serve --conversations`, and those of other programs.
import { existsSync } from 'node:fs';
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

/** For a database that another program wrote: a misspelt name would create an empty one. */
export async function openWrittenConversations(location: string, scope: string | undefined): Promise<Conversations> {
  if (!isUrl(location) && !existsSync(location)) {
    const text = `There is no database ${location}: name the file that the program opens, or that of serve --conversations.`;
    throw new PocketError('CONFIG_INVALID', text);
  }
  return openServedConversations(location, scope === undefined ? {} : { scope });
}

export function isUrl(location: string): boolean {
  return /^\w+:\/\//.test(location);
}
