// The files of the page, which npm run build makes from the folder page.
import { readFile } from 'node:fs/promises';
import { configError } from '@pocket-agent/kit';

const types: Record<string, string> = {
  '/': 'text/html; charset=utf-8',
  '/page.js': 'text/javascript; charset=utf-8',
  '/page.css': 'text/css; charset=utf-8',
};

const headers = {
  // nothing that an agent or a tool says can load or run anything
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
};

/** The files of the page by path. Throws if the page was not built. */
export async function readPage(): Promise<ReadonlyMap<string, () => Response>> {
  const folder = new URL('../../dist/page/', import.meta.url);
  const files = Object.entries(types).map(async ([path, type]) => {
    const body = await readFile(new URL(path === '/' ? 'index.html' : path.slice(1), folder), 'utf8');
    return [path, () => new Response(body, { headers: { ...headers, 'content-type': type } })] as const;
  });
  try {
    return new Map(await Promise.all(files));
  } catch (cause) {
    throw configError('The page of the studio is not built. Run `npm run build` first.', cause);
  }
}
