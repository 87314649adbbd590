// Links and images that a model wrote must not be fetched: Mattermost and its clients load previews and pictures without a
// click, and an address can carry what the model has read. Links to other hosts than those allowed become text: a space
// goes behind :// and www., and a character without width into the syntax of links. Code blocks stay as they are, except
// for pictures: the server, which makes previews, and the web client, which loads pictures, disagree on what a code block is.
// Code spans stay as they are in paragraphs where both are certain to find the same ones.
import { mapText } from './map-text.ts';

type IsAllowed = (url: URL) => boolean;

/** With as much of what follows as holds a host. */
const ADDRESS = /(?:[a-z][a-z0-9+.-]{0,30}:\/\/|(?<![a-z0-9])www\.)(?=(\S{1,300}))/gi;
/** `[text](…`, `![picture](…` and `[name]: …`, with what they lead to where that is written plainly. */
const TARGET = /\](?=\s*[(:])(?:(?=\(<?(https?:\/\/[^\s()<>[\]\\&"'`]{1,2048})>?\))|)/gi;
const AT_THE_END = /[)\].,;:!?'"*_~>|}]+$/;

export function inertLinks(text: string, isAllowed: IsAllowed): string {
  const hasPictures = text.includes('![');
  return mapText(text, {
    prose: (part) => inertAddresses(inertTargets(part, isAllowed), isAllowed),
    block: (line) => (hasPictures ? inertTargets(line, isAllowed) : line),
  });
}

function inertTargets(line: string, isAllowed: IsAllowed): string {
  return line.replace(TARGET, (bracket, target?: string) =>
    leadsTo(target, isAllowed) ? bracket : `${bracket}\u200b`,
  );
}

function inertAddresses(line: string, isAllowed: IsAllowed): string {
  return line.replace(ADDRESS, (start, rest: string) => {
    const address = start.toLowerCase() === 'www.' ? `http://www.${rest}` : start + rest;
    return leadsTo(address.replace(AT_THE_END, ''), isAllowed) ? start : `${start} `;
  });
}

/** Only what every reader takes for the same address. */
function leadsTo(address: string | undefined, isAllowed: IsAllowed): boolean {
  if (address === undefined || !/^https?:\/\/[\w.-]+(?::\d+)?(?:[/?#][^\\<>`\s]*)?$/i.test(address)) return false;
  const url = URL.parse(address);
  return url !== null && isAllowed(url);
}
