// Blocks of code in a text that is read line by line, as Mattermost's server reads it when it looks for names: a fence
// at the very start of a line opens a block wherever it stands; one further in does or not, by the lists around it.

const OPENING = /^(?<indent>[ \t]*)(?<fence>`{3,}|~{3,})[^`]*$/;

const LONGEST_OPENING = 100;

export interface OpenFence {
  /** The characters that close it. */
  fence: string;
  /** A line that opens it again: the one that did, unless that is absurdly long. */
  line: string;
}

/** The block that is open after this line, where only fences at the very start of a line open one. */
export function fenceAfter(open: OpenFence | undefined, line: string): OpenFence | undefined {
  if (open) return isClosing(open.fence, line) ? undefined : open;
  const { indent, fence } = OPENING.exec(line)?.groups ?? {};
  if (fence === undefined || indent !== '') return undefined;
  return { fence, line: line.length > LONGEST_OPENING ? fence : line };
}

/** In place of a fence, where no block is open. */
export const NO_FENCE = '';

/** The fences that may be open after this line, given those that may be before it. */
export function possibleFencesAfter(open: ReadonlySet<string>, line: string): ReadonlySet<string> {
  return new Set([...open].flatMap((fence) => (fence === NO_FENCE ? openedBy(line) : keptBy(fence, line))));
}

function openedBy(line: string): string[] {
  const { indent, fence } = OPENING.exec(line)?.groups ?? {};
  if (fence === undefined) return [NO_FENCE];
  return indent === '' ? [fence] : [fence, NO_FENCE];
}

function keptBy(fence: string, line: string): string[] {
  return [isClosing(fence, line) ? NO_FENCE : fence];
}

/** After the fence there may be more of its characters, in one piece, and space of any kind. */
function isClosing(fence: string, line: string): boolean {
  const text = line.replace(/^ {1,3}/, '');
  if (!text.startsWith(fence)) return false;
  const [more = '', ...others] = text
    .slice(fence.length)
    .split(/\p{White_Space}+/u)
    .filter((part) => part !== '');
  return others.length === 0 && more.replaceAll(fence.charAt(0), '') === '';
}
