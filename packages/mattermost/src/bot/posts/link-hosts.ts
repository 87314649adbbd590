// Hosts that links in answers may point to: hosts named in questions and hosts allowed by the operator.
import { MattermostError } from '../../base/errors.ts';

const HOST = /(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{1,63}|localhost/gi;
const ALLOWED = /^(?:\*|(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*)$/i;
const MAX_HOSTS = 500;
/** Messages and channels of Mattermost; other paths may fetch a URL given in their query. */
const OWN_PATH = /^\/[a-z0-9_-]+\/(?:pl|channels|messages)\/@?[\w.-]+\/?$/;

export function isLinkHost(text: string): boolean {
  return ALLOWED.test(text);
}

export function checkLinkHosts(hosts: readonly string[]): void {
  if (!Array.isArray(hosts)) {
    throw new MattermostError('CONFIG_INVALID', 'allowLinkHosts must be a list of hosts, such as ["example.com"].');
  }
  for (const host of hosts) {
    if (isLinkHost(host)) continue;
    const text = `allowLinkHosts: "${host}" is not a host: use example.com, *.example.com for its subdomains, or * for all hosts.`;
    throw new MattermostError('CONFIG_INVALID', text);
  }
}

export class LinkHosts {
  readonly #allowed: readonly string[];
  readonly #own: URL;
  readonly #named = new Set<string>();

  /** Messages and channels of the server `mattermost` can always be linked. */
  constructor(allowed: readonly string[], mattermost: string) {
    this.#allowed = allowed.map((host) => host.toLowerCase());
    this.#own = new URL(mattermost);
  }

  /** Allows the hosts named in the text of a user. */
  allowHostsIn(text: string): void {
    for (const [host] of text.matchAll(HOST)) {
      if (this.#named.size < MAX_HOSTS) this.#named.add(withoutWww(host.toLowerCase()));
    }
  }

  allows(url: URL): boolean {
    const host = withoutWww(url.hostname);
    if (this.#named.has(host) || this.#isOwn(url)) return true;
    return this.#allowed.some((entry) => {
      if (entry === '*') return true;
      return entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : host === withoutWww(entry);
    });
  }

  #isOwn({ host, pathname, search }: URL): boolean {
    const base = this.#own.pathname.replace(/\/$/, '');
    return (
      host === this.#own.host &&
      search === '' &&
      pathname.startsWith(base) &&
      OWN_PATH.test(pathname.slice(base.length))
    );
  }
}

function withoutWww(host: string): string {
  return host.replace(/^www\./, '');
}
