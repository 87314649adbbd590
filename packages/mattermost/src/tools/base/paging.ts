// Pages of a list, and whether there is more: known, not guessed from a page that is full.
import type { ToolContext } from '../../account/caller.ts';

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
  /** How many may be read, as far as was looked. */
  count: number;
  /** Nobody looked at the rest. */
  isCut: boolean;
}

/** As many as Mattermost gives of any list. */
export const LARGEST_PAGE = 200;
const MOST_PAGES = 25;

/** Told of a list that was not looked through to its end. */
export const CUT = {
  truncated: true,
  note: `Some channels are hidden here, and only ${LARGEST_PAGE * MOST_PAGES} entries were looked through for others.`,
};

/** A page that is full is followed by asking for the one item after it. */
export async function readPage<Item>({ page, per_page, read }: PageRequest<Item>): Promise<Page<Item>> {
  const items = await read(page, per_page);
  const isTruncated = items.length >= per_page && (await read((page + 1) * per_page, 1)).length > 0;
  return { items, isTruncated };
}

/** Where channels are hidden, pages are cut from what may be read, so that they tell nothing of the rest. */
export async function readReadablePage<Item>(
  context: ToolContext,
  { page, per_page, read, channelOf }: ReadableRequest<Item>,
): Promise<ReadablePage<Item>> {
  if (context.policy.isOpen('read')) {
    const { items, isTruncated } = await readPage({ page, per_page, read });
    return { items, isTruncated, count: items.length, isCut: false };
  }
  return readFromStart(context, { page, per_page, read, channelOf });
}

/** For a list that is read from its start to be cut into pages here. */
export async function readFromStart<Item>(
  context: ToolContext,
  { page, per_page, read, channelOf }: ReadableRequest<Item>,
): Promise<ReadablePage<Item>> {
  const start = page * per_page;
  const end = start + per_page;
  const { found, isCut } = await findReadable(context, {
    most: end + 1,
    channelOf,
    read: async (number) => {
      const items = await read(number, LARGEST_PAGE);
      return { items, isLast: items.length < LARGEST_PAGE };
    },
  });
  return { items: found.slice(start, end), isTruncated: found.length > end, count: found.length, isCut };
}

interface FindRequest<Item> {
  /** More need not be found. */
  most: number;
  /** `last` is the last item of the page before. */
  read: (page: number, last: Item | undefined) => Promise<{ items: Item[]; isLast: boolean }>;
  channelOf: (item: Item) => string | null | undefined;
}

/** The first that may be read. */
export async function findReadable<Item>(
  { policy }: ToolContext,
  { most, read, channelOf }: FindRequest<Item>,
): Promise<{ found: Item[]; isCut: boolean }> {
  const found: Item[] = [];
  let last: Item | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { items, isLast } = await read(page, last);
    found.push(...(await policy.readable(items, channelOf)));
    if (isLast || found.length >= most) return { found, isCut: false };
    last = items.at(-1);
  }
  return { found, isCut: true };
}
