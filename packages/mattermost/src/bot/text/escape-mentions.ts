// Answers of a model must not notify people: a zero-width character separates every @ that could begin a name from what
// follows. Code stays as it is, because Mattermost looks for no names in it.
import { mapText } from './map-text.ts';

/** Mattermost reads character references before it looks for names, so they may stand for the @ and for what follows. */
const MENTION = /(?<![a-z0-9])(?:@|&#0*64;|&#x0*40;|&commat;)(?=[^\s\u200b])/gi;

export function escapeMentions(text: string): string {
  return mapText(text, { prose: (part) => part.replace(MENTION, '$&\u200b') });
}
