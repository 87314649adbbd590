// Checks the built site: every link must lead to a page and anchor of the site, and nothing may be loaded from elsewhere.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns a sentence for each problem. `base` is the path under which the site is served. */
export function siteProblems(folder: string, base: string): string[] {
  const pages = globSync('**/*.html', { cwd: folder });
  const ids = new Map(pages.map((page) => [page, idsOf(readFileSync(join(folder, page), 'utf8'))]));
  return pages.flatMap((page) => {
    const text = readFileSync(join(folder, page), 'utf8');
    const address = new URL(`${base}${page.replaceAll('\\', '/')}`, 'http://site');
    const targets = new Set([...text.matchAll(/<a\b[^>]*?\shref="([^"]+)"/g)].map(([, href = '']) => href));
    const links = [...targets].map((href) => new URL(href.replaceAll('&amp;', '&'), address));
    const broken = links.filter(({ host }) => host === 'site').filter((link) => !isValid(link));
    const loaded = [...text.matchAll(/<(?:script|link|img|iframe)\b[^>]*?\s(?:src|href)="((?:https?:)?\/\/[^"]+)"/g)];
    return [
      ...broken.map(({ pathname, hash }) => `${page} links to ${pathname}${hash}, which does not exist.`),
      ...loaded.map(([, source]) => `${page} loads ${source} from another host. Copy it to site/public.`),
    ];
  });

  function isValid({ pathname, hash }: URL): boolean {
    if (!pathname.startsWith(base)) return false;
    const path = decodeURIComponent(pathname.slice(base.length));
    const page = [path, `${path}.html`, join(path, 'index.html')].find((each) => ids.has(each));
    if (page === undefined) return path !== '' && existsSync(join(folder, path));
    return hash === '' || ids.get(page)?.has(decodeURIComponent(hash.slice(1))) === true;
  }
}

function idsOf(html: string): Set<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id));
}
