// Which hosts links in answers may lead to: those that people named themselves, and those the operator allows.
import { MattermostError } from '../base/errors.ts';

const HOST = /(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{1,63}|localhost/gi;
const ALLOWED = /^(?:\*|(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*)$/i;
const MOST_HOSTS = 500;
/** Places in Mattermost itself; other addresses of it may fetch what their query names. */
const OWN_PATH = /^\/[a-z0-9_-]+\/(?:pl|channels|messages)\/@?[\w.-]+\/?$/;

export function isLinkHost(text: string): boolean {
  return ALLOWED.test(text);
}

export function checkLinkHosts(hosts: readonly string[]): void {
  if (!Array.isArray(hosts)) {
    throw new MattermostError('CONFIG_INVALID', 'allowLinkHosts must be a list of hosts, such as ["example.com"].');
  }
  for (const given of hosts) {
    if (isLinkHost(given)) continue;
    const text = `allowLinkHosts: "${given}" is not a host: write example.com, *.example.com for all below it, or * for all.`;
    throw new MattermostError('CONFIG_INVALID', text);
  }
}

export class LinkHosts {
  readonly #allowed: readonly string[];
  readonly #own: URL;
  readonly #named = new Set<string>();

  /** `mattermost` is the address of the server, whose messages and channels may always be linked. */
  constructor(allowed: readonly string[], mattermost: string) {
    this.#allowed = allowed.map((host) => host.toLowerCase());
    this.#own = new URL(mattermost);
  }

  /** What a person wrote. */
  learn(text: string): void {
    for (const [host] of text.matchAll(HOST)) {
      if (this.#named.size < MOST_HOSTS) this.#named.add(bare(host.toLowerCase()));
    }
  }

  allows(url: URL): boolean {
    const host = bare(url.hostname);
    if (this.#named.has(host) || this.#isOwn(url)) return true;
    return this.#allowed.some((entry) => {
      if (entry === '*') return true;
      return entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : host === bare(entry);
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

function bare(host: string): string {
  return host.replace(/^www\./, '');
}
