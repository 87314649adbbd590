// What a model writes must ring nobody's bell: every @ that could begin a name is cut off from it by a character
// without width. Code blocks stay as they are, because Mattermost looks for no names in them.
import { fenceAfter, type OpenFence } from './fences.ts';

const MENTION = /(?<![\p{L}\p{N}])@(?=[\p{L}\p{N}._-])/gu;

export function escapeMentions(text: string): string {
  let open: OpenFence | undefined;
  return text
    .split('\n')
    .map((line) => {
      const before = open;
      open = fenceAfter(open, line);
      return before && open ? line : line.replace(MENTION, '@\u200b');
    })
    .join('\n');
}
