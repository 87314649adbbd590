// Links and images that a model wrote must not be fetched: Mattermost and its clients load previews and pictures without a
// click, and an address can carry what the model has read. Links to other hosts than those allowed become text: a space
// goes behind :// and www., and a character without width into the syntax of links. Code blocks stay as they are, except
// for pictures: the server, which makes previews, and the web client, which loads pictures, disagree on what a code block is.
import { NO_FENCE, possibleFencesAfter } from './fences.ts';

type IsAllowed = (url: URL) => boolean;

/** With as much of what follows as holds a host. */
const ADDRESS = /(?:[a-z][a-z0-9+.-]{0,30}:\/\/|(?<![a-z0-9])www\.)(?=(\S{1,300}))/gi;
/** `[text](…`, `![picture](…` and `[name]: …`, with what they lead to where that is written plainly. */
const TARGET = /\](?=\s*[(:])(?:(?=\(<?(https?:\/\/[^\s()<>[\]\\&"'`]{1,2048})>?\))|)/gi;
const AT_THE_END = /[)\].,;:!?'"*_~>|}]+$/;

export function inertLinks(text: string, isAllowed: IsAllowed): string {
  let open: ReadonlySet<string> = new Set([NO_FENCE]);
  const hasPictures = text.includes('![');
  const inertCode = (line: string) => (hasPictures ? inertTargets(line, isAllowed) : line);
  return text
    .split(/\r\n?|\n/)
    .map((line) => {
      const isCode = !open.has(NO_FENCE);
      open = possibleFencesAfter(open, line);
      return isCode ? inertCode(line) : inertAddresses(inertTargets(line, isAllowed), isAllowed);
    })
    .join('\n');
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
