// The included tool folders: web, github and notes.
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadToolFolder, type ToolFolder } from '@pocket-agent/tool-folder';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { htmlToText } from '../src/folders/web/html-text.ts';

const shipped = fileURLToPath(new URL('../src/folders', import.meta.url));
const servers: Server[] = [];
let folder: ToolFolder;

afterEach(async () => {
  vi.unstubAllEnvs();
  await folder?.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function open(name: string): void {
  folder = loadToolFolder(join(shipped, name));
}

async function call(name: string, args: Record<string, unknown>) {
  const context = { toolCallId: '1', signal: new AbortController().signal, progress() {}, meta: {} };
  const { content, structuredContent, isError } = await folder.callTool(name, args, context).catch((error: Error) => ({
    content: [{ type: 'text' as const, text: error.message }],
    structuredContent: undefined,
    isError: true,
  }));
  const [first] = content;
  return { text: first?.type === 'text' ? first.text : '', first, data: structuredContent, isError: isError === true };
}

test('all three load without a key, and every tool declares its capability', async () => {
  folder = loadToolFolder(shipped, { strict: true });
  const tools = await folder.listTools();
  expect(tools.map(({ name, _meta: meta }) => [name, meta?.capability])).toEqual([
    ['github_search', 'read'],
    ['github_list_files', 'read'],
    ['github_read_file', 'read'],
    ['save_note', 'create'],
    ['find_notes', 'read'],
    ['read_note', 'read'],
    ['change_note', 'write'],
    ['delete_note', 'delete'],
    ['web_search', 'read'],
    ['web_fetch', 'read'],
  ]);
});

describe('web', () => {
  test('web_fetch mentions the name url_browse', async () => {
    folder = loadToolFolder(shipped, { strict: true });
    const tools = await folder.listTools();
    expect(tools.find(({ description }) => description?.includes('url_browse'))?.name).toBe('web_fetch');
  });

  test('a page is returned as text with links, marked as untrusted, in parts', async () => {
    vi.stubEnv('POCKET_AGENT_ALLOW_PRIVATE_URLS', '1');
    const page = '<title>Owls &amp; us</title><script>evil()</script><h1>Owls</h1><p>They <a href="/fly">fly</a>.</p>';
    const base = await serve((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`${page}${'x'.repeat(1000)}`),
    );
    open('web');
    const { text } = await call('web_fetch', { url: `${base}/owls`, max_characters: 500 });
    expect(text).toContain(`[${base}/owls, “Owls & us”: untrusted content]\n# Owls\n\nThey [fly](${base}/fly).`);
    expect(text).not.toContain('evil');
    const start = Number(/start=(\d+)/.exec(text)?.[1]);
    expect(start).toBe(500);
    expect((await call('web_fetch', { url: `${base}/owls`, start })).text).toMatch(/x{100}/);
  });

  test('private addresses are refused, as a number and as a name', async () => {
    vi.stubEnv('POCKET_AGENT_ALLOW_PRIVATE_URLS', '');
    let asked = 0;
    const base = await serve((_request, response) => {
      asked++;
      response.end('inside');
    });
    open('web');
    for (const url of [base, base.replace('127.0.0.1', 'localhost'), 'http://169.254.169.254/latest'])
      expect(await call('web_fetch', { url })).toMatchObject({
        isError: true,
        text: expect.stringMatching(/private.*POCKET_AGENT_ALLOW_PRIVATE_URLS=1/),
      });
    expect(asked).toBe(0);
  });

  test('images are returned as images, other binary types are refused, and error statuses are reported', async () => {
    vi.stubEnv('POCKET_AGENT_ALLOW_PRIVATE_URLS', '1');
    const types: Record<string, string> = {
      '/a.zip': 'application/zip',
      '/b.png': 'image/png',
      '/c.json': 'application/json',
    };
    const base = await serve(({ url = '' }, response) =>
      response.writeHead(url in types ? 200 : 404, { 'content-type': types[url] ?? 'text/html' }).end('{"a":1}'),
    );
    open('web');
    expect((await call('web_fetch', { url: `${base}/a.zip` })).text).toContain(
      'application/zip, which is neither text nor an image',
    );
    expect((await call('web_fetch', { url: `${base}/b.png` })).first).toMatchObject({
      type: 'image',
      mimeType: 'image/png',
    });
    expect((await call('web_fetch', { url: `${base}/c.json` })).text).toContain('{"a":1}');
    expect((await call('web_fetch', { url: `${base}/d` })).text).toContain('answered 404');
  });

  test('without a provider, web_search names the variables to set', async () => {
    for (const name of ['BRAVE_API_KEY', 'TAVILY_API_KEY', 'SEARXNG_URL']) vi.stubEnv(name, '');
    open('web');
    const { text, isError } = await call('web_search', { query: 'owls' });
    expect(isError).toBe(true);
    expect(text).toMatch(/BRAVE_API_KEY.*TAVILY_API_KEY.*SEARXNG_URL/);
  });

  test('web_search uses the configured provider and does not reveal its key or URL', async () => {
    for (const name of ['BRAVE_API_KEY', 'TAVILY_API_KEY']) vi.stubEnv(name, '');
    const asked: string[] = [];
    const base = await serve(({ url = '' }, response) => {
      asked.push(url);
      const results = [{ title: 'Owls', url: 'https://owls.example', content: 'They <b>fly</b>' }, { title: 'no url' }];
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results }));
    });
    vi.stubEnv('SEARXNG_URL', base);
    open('web');
    expect((await call('web_search', { query: 'owls & mice' })).data).toEqual({
      provider: 'SearXNG',
      results: [{ title: 'Owls', url: 'https://owls.example', description: 'They fly' }],
    });
    expect(asked).toEqual(['/search?q=owls+%26+mice&format=json']);
  });

  test.each([
    ['tags that never end', '<a'.repeat(300_000)],
    ['comments that never end', '<!--'.repeat(300_000)],
    ['a name that never ends', `<${'a'.repeat(1_000_000)}`],
    ['links in links', `${'<a href="/x">'.repeat(50_000)}text${'</a>'.repeat(50_000)}`],
    ['elements in elements', '<div>'.repeat(200_000)],
    ['spaces', `<p>${' '.repeat(1_000_000)}x`],
  ])('a page full of %s is read in linear time', async (_what, html) => {
    const begun = process.cpuUsage(); // CPU time, because elapsed time means nothing on a shared machine
    await htmlToText(html, 'https://x.example');
    expect(process.cpuUsage(begun).user).toBeLessThan(2_000_000);
  });

  test('lists, tables, code and entities stay readable', async () => {
    const html = '<ul><li>one<li>two</ul><table><tr><td>a<td>b</tr></table><pre>x  y\n z</pre>&#8364;&hellip;&nope;';
    expect((await htmlToText(html, 'https://x.example')).text).toBe(
      '- one\n- two\n\na | b\n\n```\nx  y\n z\n```\n€…&nope;',
    );
  });

  test.each([
    ['entities', '<p>Caf&eacute; &copy; 2026', 'Café © 2026'],
    ['an attribute with a >', '<p title="a > b">text</p>', 'text'],
    ['an element that is never closed', '<div><button>Send</div><p>after', 'Send\n\nafter'],
    ['a script with tags in it', '<script>"</b><p>no"</script><p>yes', 'yes'],
    ['a hidden element inside another', '<svg><svg><text>no</text></svg></svg><p>yes', 'yes'],
  ])('HTML with %s is converted', async (_what, html, text) => {
    expect((await htmlToText(html, 'https://x.example')).text).toBe(text);
  });
});

describe('github', () => {
  const answers: Record<string, [status: number, body: string, headers?: Record<string, string>]> = {
    '/repos/ann/owls/contents/src': [
      200,
      JSON.stringify([
        { name: 'lib', type: 'dir' },
        { name: 'a.ts', type: 'file', size: 3 },
      ]),
    ],
    '/repos/ann/owls/contents/src/a%20b.ts?ref=main': [200, 'one\ntwo\nthree'],
    '/repos/ann/owls/contents/gone': [404, '{}'],
    '/repos/ann/owls/contents/busy': [403, '{}', { 'x-ratelimit-remaining': '0', 'retry-after': '7' }],
  };
  let seen: string[];

  beforeEach(async () => {
    seen = [];
    const base = await serve(({ url = '', headers }, response) => {
      seen.push(`${url} ${headers.authorization ?? 'anonymous'}`);
      const items = [{ full_name: 'ann/owls', description: 'd', stargazers_count: 3, language: 'C', html_url: 'u' }];
      const [status, body, more] = answers[url] ?? [200, JSON.stringify({ total_count: 1, items })];
      response.writeHead(status, more).end(body);
    });
    vi.stubEnv('GITHUB_API_URL', base);
    vi.stubEnv('GITHUB_TOKEN', '');
    open('github');
  });

  test('searches, lists and reads without a token', async () => {
    const found = await call('github_search', { query: 'owls stars:>1' });
    expect(found.data).toMatchObject({ total: 1, results: [{ repo: 'ann/owls', stars: 3 }] });
    expect((await call('github_list_files', { repo: 'ann/owls', path: '/src/' })).text).toContain('a.ts (3 bytes)');
    const read = { repo: 'ann/owls', path: 'src/a b.ts', ref: 'main', first_line: 2, last_line: 2 };
    expect((await call('github_read_file', read)).text).toBe('[ann/owls/src/a b.ts, lines 2 to 2 of 3]\ntwo');
    expect(seen[0]).toBe('/search/repositories?q=owls+stars%3A%3E1&page=1&per_page=20 anonymous');
  });

  test('code search needs a token, which is sent and never shown', async () => {
    expect((await call('github_search', { query: 'x', kind: 'code' })).text).toContain('set GITHUB_TOKEN');
    await folder.close();
    vi.stubEnv('GITHUB_TOKEN', 'ghp_secret');
    open('github');
    expect(JSON.stringify(await call('github_search', { query: 'x', kind: 'code' }))).not.toContain('ghp_secret');
    expect(seen).toEqual(['/search/code?q=x&page=1&per_page=20 Bearer ghp_secret']);
  });

  test('errors say what to do', async () => {
    const list = async (path: string) => (await call('github_list_files', { repo: 'ann/owls', path })).text;
    expect(await list('gone')).toContain('Not found on GitHub, or private: set GITHUB_TOKEN');
    expect(await list('busy')).toContain('Try again in 7 s. GITHUB_TOKEN raises the limit.');
    expect(await list('../../user')).toContain('must not contain');
    expect((await call('github_list_files', { repo: 'ann' })).isError).toBe(true);
    expect((await call('github_list_files', { repo: '../user' })).text).toContain('must not contain');
    const beyond = { repo: 'ann/owls', path: 'src/a b.ts', ref: 'main', first_line: 9 };
    expect((await call('github_read_file', beyond)).text).toContain('has only 3 lines');
  });
});

describe('notes', () => {
  let home: string;

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'pocket-agent-notes-'));
    vi.stubEnv('POCKET_AGENT_NOTES', join(home, 'deep', 'notes.db'));
    open('notes');
  });
  afterEach(() => rm(home, { recursive: true }));

  test('can be found after a restart, changed and deleted', async () => {
    await call('save_note', { title: 'Owls', text: 'They hunt at night.', tags: ['birds'] });
    await call('save_note', { title: 'Cats', text: 'They sleep at night and by day.' });
    await folder.close();
    open('notes');
    const titles = async (args: Record<string, unknown>) =>
      JSON.parse((await call('find_notes', args)).text).map(({ title }: { title: string }) => title);
    expect(await titles({ words: 'hunting' })).toEqual(['Owls']);
    expect(await titles({ words: 'night', tag: 'birds' })).toEqual(['Owls']);
    expect(await titles({})).toEqual(['Cats', 'Owls']);
    await call('change_note', { id: 1, text: 'They are silent.' });
    expect(await titles({ words: 'hunt' })).toEqual([]);
    expect((await call('read_note', { id: 1 })).data).toMatchObject({
      title: 'Owls',
      text: 'They are silent.',
      tags: ['birds'],
    });
    await call('delete_note', { id: 2 });
    expect(await titles({})).toEqual(['Owls']);
    expect((await stat(join(home, 'deep', 'notes.db'))).mode & 0o077).toBe(0);
  });

  test('operators of the search engine are treated as plain words', async () => {
    await call('save_note', { title: 'x', text: 'rock AND roll "quoted" -minus' });
    for (const words of ['AND', '"', 'roll"', '-minus', 'NEAR(', '*', "'; DROP TABLE notes"])
      expect((await call('find_notes', { words })).isError, words).toBe(false);
    expect((await call('read_note', { id: 99 })).text).toContain('There is no note 99');
  });
});
