// Prevents mentions in answers from notifying people: inserts a zero-width space after every @ that could start a name.
// Code is not changed, because Mattermost ignores mentions in code.
import { mapProse } from './map-prose.ts';

/** Includes character references for @, which Mattermost decodes before it looks for mentions. */
const MENTION = /(?<![a-z0-9])(?:@|&#0*64;|&#x0*40;|&commat;)(?=[^\s\u200b])/gi;

export function escapeMentions(text: string): string {
  return mapProse(text, { prose: (part) => part.replace(MENTION, '$&\u200b') });
}
