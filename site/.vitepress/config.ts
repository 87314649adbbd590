// The documentation site. `npm run docs` writes its pages and site.json to site/pages before.
import { readFileSync } from 'node:fs';
import { slugOf } from '../../scripts/docs/markdown.ts';

const { sidebar } = JSON.parse(readFileSync(new URL('../pages/site.json', import.meta.url), 'utf8'));
const { DOCS_BASE, GITHUB_REPOSITORY } = process.env;
const repository = GITHUB_REPOSITORY && `https://github.com/${GITHUB_REPOSITORY}`;
const base = DOCS_BASE ?? '/';

interface Renderer {
  render(text: string, environment: object): string;
}

/** Names are found by headings and sentences; programs and declarations would make the index three times as large. */
function renderForSearch(text: string, environment: object, markdown: Renderer): string {
  return markdown.render(text.replace(/^```[\s\S]*?^```$/gm, ''), environment);
}

export default {
  title: 'Pocket Agent',
  description: 'A small agent framework for TypeScript, built on MCP.',
  lang: 'en',
  base,
  srcDir: 'pages',
  outDir: 'dist',
  cleanUrls: true,
  head: [['link', { rel: 'icon', href: `${base}logo.svg` }]],
  markdown: { anchor: { slugify: slugOf }, theme: { light: 'github-light', dark: 'github-dark' } },
  themeConfig: {
    logo: '/logo.svg',
    nav: [
      { text: 'Start', link: '/getting-started' },
      { text: 'Examples', link: '/examples/' },
      { text: 'Reference', link: '/reference' },
      { text: 'Changelog', link: '/changelog' },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local', options: { _render: renderForSearch } },
    socialLinks: repository && [{ icon: 'github', link: repository }],
    externalLinkIcon: true,
  },
};
