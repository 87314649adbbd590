// Pages of a list, and whether there is more: known, not guessed from a page that is full.
import type { ToolContext } from '../caller.ts';
import type { Query } from '../client/path.ts';

interface PageRequest {
  page: number;
  per_page: number;
  query?: Query;
}

/** A page that is full is followed by asking for the one item after it. */
export async function readPage<Item>(
  { api }: ToolContext,
  path: string,
  { page, per_page, query }: PageRequest,
): Promise<{ items: Item[]; isTruncated: boolean }> {
  const items = await api.list<Item>(path, { ...query, page, per_page });
  if (items.length < per_page) return { items, isTruncated: false };
  const [following] = await api.list<Item>(path, { ...query, page: (page + 1) * per_page, per_page: 1 });
  return { items, isTruncated: following !== undefined };
}
