// Blocks of code in a text that is read line by line. Only fences at the very start of a line count: those are code to
// every reader, whatever list or quotation stands before them.

const OPENING = /^(?<fence>`{3,})[^`]*$|^(?<tildes>~{3,}).*$/;
const CLOSING = /^ {0,3}(?<fence>`{3,}|~{3,})[ \t]*$/;

const LONGEST_OPENING = 100;

export interface OpenFence {
  /** The characters that close it. */
  fence: string;
  /** A line that opens it again: the one that did, unless that is absurdly long. */
  line: string;
}

/** The block that is open after this line. */
export function fenceAfter(open: OpenFence | undefined, line: string): OpenFence | undefined {
  if (open) {
    const closing = CLOSING.exec(line)?.groups?.fence;
    return closing?.startsWith(open.fence) ? undefined : open;
  }
  const groups = OPENING.exec(line)?.groups;
  const fence = groups?.fence ?? groups?.tildes;
  return fence === undefined ? undefined : { fence, line: line.length > LONGEST_OPENING ? fence : line };
}
