// Where a login may be sent back to. Addresses are compared part by part, never as text, so that no pattern can be
// tricked into a host it does not name.
import { MattermostError } from '../base/errors.ts';

interface Pattern {
  protocol: string;
  /** `*.example.com` stands for everything below example.com. */
  host: string;
  /** Empty for the usual one of the protocol, `*` for any. */
  port: string;
  /** Undefined for any; `*` stands for anything. */
  path: string | undefined;
}

const PATTERN =
  /^(?<protocol>[a-z][a-z0-9+.-]*:)\/\/(?<host>(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])(?::(?<port>\*|\d+))?(?<path>\/[^?#]*)?$/i;
/** What a browser would run or open instead of sending the code there. */
const NEVER = ['javascript:', 'vbscript:', 'data:', 'file:', 'blob:', 'about:'];
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const LONGEST_URI = 500;

export class RedirectUris {
  readonly #patterns: readonly Pattern[];

  constructor(patterns: readonly string[]) {
    this.#patterns = patterns.map(readPattern);
  }

  allows(uri: string): boolean {
    // what a browser would read in its own way is not an address
    const url = uri.length <= LONGEST_URI && /^[!-[\]-~]+$/.test(uri) ? URL.parse(uri) : null;
    if (url?.username !== '' || url.password !== '' || uri.includes('#') || NEVER.includes(url.protocol)) {
      return false;
    }
    return this.#patterns.some((pattern) => matches(pattern, url));
  }
}

/** The same address; on this machine the port may differ, since programs take any that is free (RFC 8252). */
export function isSameRedirect(registered: string, given: string): boolean {
  if (registered === given) return true;
  const [one, other] = [URL.parse(registered), URL.parse(given)];
  if (one?.protocol !== 'http:' || !other || !LOOPBACK.includes(one.hostname)) return false;
  one.port = '';
  other.port = '';
  return one.href === other.href;
}

function readPattern(text: string): Pattern {
  const { protocol = '', host = '', port = '', path } = PATTERN.exec(text)?.groups ?? {};
  const isWide = host.startsWith('*.') && host.split('.').length < 3;
  if (host === '' || isWide || NEVER.includes(protocol.toLowerCase())) {
    const example = 'http://localhost:* or https://*.example.com/callback';
    throw new MattermostError(
      'CONFIG_INVALID',
      `MATTERMOST_OAUTH_ALLOWED_REDIRECT_URIS: "${text}" must look like ${example}.`,
    );
  }
  return { protocol: protocol.toLowerCase(), host: host.toLowerCase(), port, path };
}

function matches({ protocol, host, port, path }: Pattern, url: URL): boolean {
  const given = url.hostname.toLowerCase();
  const isHost = host.startsWith('*.') ? given.endsWith(host.slice(1)) : given === host;
  if (url.protocol !== protocol || !isHost) return false;
  if (port !== '*' && url.port !== usualPort(protocol, port)) return false;
  return path === undefined || fits(path, url.pathname);
}

/** A URL leaves out the port that its protocol has anyway. */
function usualPort(protocol: string, port: string): string {
  return (protocol === 'http:' && port === '80') || (protocol === 'https:' && port === '443') ? '' : port;
}

function fits(pattern: string, path: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return path === head;
  if (!path.startsWith(head)) return false;
  let from = head.length;
  for (const piece of rest) {
    const found = path.indexOf(piece, from);
    if (found === -1) return false;
    from = found + piece.length;
  }
  return path.length - tail.length >= from && path.endsWith(tail);
}
