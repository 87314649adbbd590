// What a model writes must ring nobody's bell: every @ that could begin a name is cut off from it by a character
// without width. Code blocks stay as they are, because Mattermost looks for no names in them; only what it is sure to
// take for one counts.
import { NO_FENCE, possibleFencesAfter } from './fences.ts';

/** Mattermost reads character references before it looks for names, so they may stand for the @ and for what follows. */
const MENTION = /(?<![a-z0-9])(?:@|&#0*64;|&#x0*40;|&commat;)(?=[^\s\u200b])/gi;

export function escapeMentions(text: string): string {
  let open: ReadonlySet<string> = new Set([NO_FENCE]);
  return text
    .replace(/\r\n?/g, '\n') // each of them ends a line
    .split('\n')
    .map((line) => {
      const isCode = !open.has(NO_FENCE);
      open = possibleFencesAfter(open, line);
      return isCode ? line : line.replace(MENTION, '$&\u200b');
    })
    .join('\n');
}
