// Allowed redirect URIs. URIs are compared part by part, never as strings, so that a pattern cannot match a foreign host.
import { MattermostError } from '../base/errors.ts';

interface Pattern {
  protocol: string;
  /** `*.example.com` matches all subdomains of example.com. */
  host: string;
  /** Empty for the default port, `*` for any port. */
  port: string;
  /** Undefined for any path; `*` matches any characters. */
  path: string | undefined;
}

const PATTERN =
  /^(?<protocol>[a-z][a-z0-9+.-]*:)\/\/(?<host>(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])(?::(?<port>\*|\d+))?(?<path>\/[^?#]*)?$/i;
/** Schemes that a browser runs or opens locally. */
const FORBIDDEN_PROTOCOLS = ['javascript:', 'vbscript:', 'data:', 'file:', 'blob:', 'about:'];
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const MAX_URI_LENGTH = 500;

export class RedirectUris {
  readonly #patterns: readonly Pattern[];

  constructor(patterns: readonly string[]) {
    this.#patterns = patterns.map(readPattern);
  }

  allows(uri: string): boolean {
    // reject characters that browsers interpret differently
    const url = uri.length <= MAX_URI_LENGTH && /^[!-[\]-~]+$/.test(uri) ? URL.parse(uri) : null;
    if (
      url?.username !== '' ||
      url.password !== '' ||
      uri.includes('#') ||
      FORBIDDEN_PROTOCOLS.includes(url.protocol)
    ) {
      return false;
    }
    return this.#patterns.some((pattern) => matches(pattern, url));
  }
}

/** Loopback URIs may differ in the port, because native programs use any free port (RFC 8252). */
export function isSameRedirect(registered: string, requested: string): boolean {
  if (registered === requested) return true;
  const [one, other] = [URL.parse(registered), URL.parse(requested)];
  if (one?.protocol !== 'http:' || !other || !LOOPBACK.includes(one.hostname)) return false;
  one.port = '';
  other.port = '';
  return one.href === other.href;
}

function readPattern(text: string): Pattern {
  const { protocol = '', host = '', port = '', path } = PATTERN.exec(text)?.groups ?? {};
  const isTooBroad = host.startsWith('*.') && host.split('.').length < 3;
  if (host === '' || isTooBroad || FORBIDDEN_PROTOCOLS.includes(protocol.toLowerCase())) {
    const example = 'http://localhost:* or https://*.example.com/callback';
    throw new MattermostError(
      'CONFIG_INVALID',
      `MATTERMOST_OAUTH_ALLOWED_REDIRECT_URIS: "${text}" must look like ${example}.`,
    );
  }
  return { protocol: protocol.toLowerCase(), host: host.toLowerCase(), port, path };
}

function matches({ protocol, host, port, path }: Pattern, url: URL): boolean {
  const hostname = url.hostname.toLowerCase();
  const isHost = host.startsWith('*.') ? hostname.endsWith(host.slice(1)) : hostname === host;
  if (url.protocol !== protocol || !isHost) return false;
  if (port !== '*' && url.port !== normalizePort(protocol, port)) return false;
  return path === undefined || matchesPath(path, url.pathname);
}

/** URL objects have an empty port for the default port of the protocol. */
function normalizePort(protocol: string, port: string): string {
  return (protocol === 'http:' && port === '80') || (protocol === 'https:' && port === '443') ? '' : port;
}

function matchesPath(pattern: string, path: string): boolean {
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
