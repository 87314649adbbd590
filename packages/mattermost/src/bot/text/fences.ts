// Fenced code blocks, read line by line as Mattermost's server does when it looks for mentions: a fence at the start of a
// line always opens a block; whether an indented one does depends on the surrounding lists.

const OPENING = /^(?<indent>[ \t]*)(?<fence>`{3,}|~{3,})[^`]*$/;

const MAX_OPENING_LENGTH = 100;

export interface OpenFence {
  /** The characters that close the block. */
  fence: string;
  /** The line that reopens the block: the original one, unless it is too long. */
  line: string;
}

/** The block that is open after this line, if only unindented fences open blocks. */
export function fenceAfter(open: OpenFence | undefined, line: string): OpenFence | undefined {
  if (open) return isClosing(open.fence, line) ? undefined : open;
  const { indent, fence } = OPENING.exec(line)?.groups ?? {};
  if (fence === undefined || indent !== '') return undefined;
  return { fence, line: line.length > MAX_OPENING_LENGTH ? fence : line };
}

/** Stands for "no block is open". */
export const NO_FENCE = '';

/** The fences that may be open after this line, given those that may be open before it. */
export function possibleFencesAfter(open: ReadonlySet<string>, line: string): ReadonlySet<string> {
  return new Set(
    [...open].flatMap((fence) => {
      if (fence === NO_FENCE) return openedBy(line);
      return isClosing(fence, line) ? NO_FENCE : fence;
    }),
  );
}

function openedBy(line: string): string[] {
  const { indent, fence } = OPENING.exec(line)?.groups ?? {};
  if (fence === undefined) return [NO_FENCE];
  return indent === '' ? [fence] : [fence, NO_FENCE];
}

/** A closing fence may be longer than the opening one and be followed by white space. */
function isClosing(fence: string, line: string): boolean {
  const text = line.replace(/^ {1,3}/, '');
  if (!text.startsWith(fence)) return false;
  const [more = '', ...others] = text
    .slice(fence.length)
    .split(/\p{White_Space}+/u)
    .filter((part) => part !== '');
  return others.length === 0 && more.replaceAll(fence.charAt(0), '') === '';
}
