// Turns links and images to hosts that are not allowed into text. Mattermost and its clients load previews and images
// without a click, so a URL could leak what the model has read. A space is inserted after :// and www., and a zero-width
// space into link syntax. Code blocks are not changed, except for images: the server, which creates previews, and the web
// client, which loads images, disagree on what a code block is. Code spans are not changed where both find the same ones.
import { mapProse } from './map-prose.ts';

type IsAllowed = (url: URL) => boolean;

/** The start of a URL; the lookahead captures the rest. */
const ADDRESS = /(?:[a-z][a-z0-9+.-]{0,30}:\/\/|(?<![a-z0-9])www\.)(?=(\S{1,300}))/gi;
/** `[text](…`, `![image](…` and `[name]: …`; captures the target if it is a plain URL. */
const TARGET = /\](?=\s*[(:])(?:(?=\(<?(https?:\/\/[^\s()<>[\]\\&"'`]{1,2048})>?\))|)/gi;
const TRAILING_PUNCTUATION = /[)\].,;:!?'"*_~>|}]+$/;

export function makeLinksInert(text: string, isAllowed: IsAllowed): string {
  const hasImages = text.includes('![');
  return mapProse(text, {
    prose: (part) => makeUrlsInert(makeTargetsInert(part, isAllowed), isAllowed),
    block: (line) => (hasImages ? makeTargetsInert(line, isAllowed) : line),
  });
}

function makeTargetsInert(line: string, isAllowed: IsAllowed): string {
  return line.replace(TARGET, (bracket, target?: string) =>
    isAllowedUrl(target, isAllowed) ? bracket : `${bracket}\u200b`,
  );
}

function makeUrlsInert(line: string, isAllowed: IsAllowed): string {
  return line.replace(ADDRESS, (start, rest: string) => {
    const address = start.toLowerCase() === 'www.' ? `http://www.${rest}` : start + rest;
    return isAllowedUrl(address.replace(TRAILING_PUNCTUATION, ''), isAllowed) ? start : `${start} `;
  });
}

/** Accepts only URLs that every parser reads in the same way. */
function isAllowedUrl(address: string | undefined, isAllowed: IsAllowed): boolean {
  if (address === undefined || !/^https?:\/\/[\w.-]+(?::\d+)?(?:[/?#][^\\<>`\s]*)?$/i.test(address)) return false;
  const url = URL.parse(address);
  return url !== null && isAllowed(url);
}
