// How the documentation site is made and checked: links, and the reference.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { siteProblems } from '../../../../scripts/docs/check-site.ts';
import { descriptionOf, withLinks } from '../../../../scripts/docs/markdown.ts';

/** The problems of a site with these files, served under `/docs/`. */
function problemsOf(files: Record<string, string>): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'site-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return siteProblems(folder, '/docs/');
}

test('links to pages, folders, files and anchors of the site are in order', () => {
  const index =
    '<a href="/docs/a">a</a> <a class="x" href="./b/">b</a> <a href="a#Here">here</a> <a href="llms.txt">l</a>';
  const a = '<h1 id="Here">Here</h1> <a href="https://example.com/">elsewhere</a> <script src="/docs/x.js"></script>';
  expect(
    problemsOf({ 'index.html': index, 'a.html': a, 'b/index.html': '<a href="../">up</a>', 'llms.txt': '' }),
  ).toEqual([]);
});

test('a link to a page or an anchor that does not exist is a problem', () => {
  expect(problemsOf({ 'index.html': '<a href="gone">1</a> <a href="#gone">2</a> <a href="/agents">3</a>' })).toEqual([
    'index.html links to /docs/gone, which does not exist.',
    'index.html links to /docs/index.html#gone, which does not exist.',
    'index.html links to /agents, which does not exist.',
  ]);
});

test('a script or style from another host is a problem', () => {
  const page =
    '<link rel="stylesheet" href="https://cdn.example/x.css"> <script async src="//cdn.example/x.js"></script>';
  expect(problemsOf({ 'index.html': page })).toEqual([
    'index.html loads https://cdn.example/x.css from another host. Copy it to site/public.',
    'index.html loads //cdn.example/x.js from another host. Copy it to site/public.',
  ]);
});

test('links are changed, or become text, but code and external links stay', () => {
  const text = '[`a`](a.md) [b](b.md#c) [web](https://example.com) `[c](c.md)`\n```md\n[d](d.md)\n```\n';
  expect(withLinks(text, ({ target }) => (target === 'a.md' ? 'x.md' : undefined))).toBe(
    '[`a`](x.md) b [web](https://example.com) `[c](c.md)`\n```md\n[d](d.md)\n```\n',
  );
});

test('the description of a page is its first sentence without Markdown', () => {
  expect(descriptionOf('# Title\n\nAn **agent** has\n`a` [model](m.md). More.\n')).toBe('An agent has a model.');
});
