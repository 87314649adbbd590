// The database of durable runs: --runs, or POCKET_AGENT_RUNS.
import { PocketError } from '@pocket-agent/kit';
import { isUrl } from './served-conversations.ts';

/** A SQLite file or a postgres:// URL, as `openRuns` takes it. */
export function runsUrl(given: string | undefined): string {
  const location = given ?? process.env.POCKET_AGENT_RUNS;
  if (!location)
    throw new PocketError('CONFIG_INVALID', 'Name the database: --runs FILE, a postgres:// URL, or POCKET_AGENT_RUNS.');
  return isUrl(location) || location.startsWith('sqlite:') ? location : `sqlite:${location}`;
}
