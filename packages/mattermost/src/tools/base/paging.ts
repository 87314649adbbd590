// Pages of a list, with an exact answer to whether more items follow.
import type { ToolContext } from '../../account/account.ts';

interface PageRequest<Item> {
  page: number;
  per_page: number;
  read: (page: number, per_page: number) => Promise<Item[]>;
}

interface ReadableRequest<Item> extends PageRequest<Item> {
  channelOf: (item: Item) => string | null | undefined;
}

interface Page<Item> {
  items: Item[];
  isTruncated: boolean;
}

interface ReadablePage<Item> extends Page<Item> {
  /** Readable items found so far. */
  count: number;
  /** The scan stopped at its limit; the rest of the list was not examined. */
  hitScanLimit: boolean;
}

/** The largest page Mattermost returns. */
export const MAX_PAGE_SIZE = 200;
const MAX_PAGES = 25;

const SCAN_LIMIT_NOTE = `Some channels are hidden on this server; only the first ${MAX_PAGE_SIZE * MAX_PAGES} entries were searched for visible ones.`;

interface PageEnd {
  truncated: boolean;
  next?: Record<string, unknown>;
  note?: string;
}

/** `truncated`, and the arguments of the call that reads the next page; a note instead if a scan stopped early. */
export function pageEnd(
  { isTruncated, hitScanLimit = false }: { isTruncated: boolean; hitScanLimit?: boolean },
  next: Record<string, unknown>,
): PageEnd {
  if (hitScanLimit) return { truncated: true, note: SCAN_LIMIT_NOTE };
  return isTruncated ? { truncated: true, next } : { truncated: false };
}

/** After a full page, requests the next item to find out whether there is one. */
export async function readPage<Item>({ page, per_page, read }: PageRequest<Item>): Promise<Page<Item>> {
  const items = await read(page, per_page);
  const isTruncated = items.length >= per_page && (await read((page + 1) * per_page, 1)).length > 0;
  return { items, isTruncated };
}

/** If channels are hidden, pages contain only readable items, so that page numbers reveal nothing about hidden ones. */
export async function readReadablePage<Item>(
  context: ToolContext,
  { page, per_page, read, channelOf }: ReadableRequest<Item>,
): Promise<ReadablePage<Item>> {
  if (context.policy.isUnrestricted('read')) {
    const { items, isTruncated } = await readPage({ page, per_page, read });
    return { items, isTruncated, count: items.length, hitScanLimit: false };
  }
  return readFromStart(context, { page, per_page, read, channelOf });
}

/** Reads a list from the start and cuts the page out of the readable items. */
export async function readFromStart<Item>(
  context: ToolContext,
  { page, per_page, read, channelOf }: ReadableRequest<Item>,
): Promise<ReadablePage<Item>> {
  const start = page * per_page;
  const end = start + per_page;
  const { found, hitScanLimit } = await findReadable(context, {
    limit: end + 1,
    channelOf,
    read: async (number) => {
      const items = await read(number, MAX_PAGE_SIZE);
      return { items, isLast: items.length < MAX_PAGE_SIZE };
    },
  });
  return { items: found.slice(start, end), isTruncated: found.length > end, count: found.length, hitScanLimit };
}

interface FindRequest<Item> {
  limit: number;
  /** `last` is the last item of the previous page. */
  read: (page: number, last: Item | undefined) => Promise<{ items: Item[]; isLast: boolean }>;
  channelOf: (item: Item) => string | null | undefined;
}

/** Finds the first readable items. */
export async function findReadable<Item>(
  { policy }: ToolContext,
  { limit, read, channelOf }: FindRequest<Item>,
): Promise<{ found: Item[]; hitScanLimit: boolean }> {
  const found: Item[] = [];
  let last: Item | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { items, isLast } = await read(page, last);
    found.push(...(await policy.filterReadable(items, channelOf)));
    if (isLast || found.length >= limit) return { found, hitScanLimit: false };
    last = items.at(-1);
  }
  return { found, hitScanLimit: true };
}
