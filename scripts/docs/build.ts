// `npm run docs`: builds the documentation site into site/dist and checks it.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../workspaces.ts';
import { siteProblems } from './check-site.ts';
import { stagePages } from './stage.ts';

const help = `npm run docs              builds the documentation site into site/dist and checks its links
npm run docs -- --serve   then serves it on http://localhost:4173
DOCS_BASE=/path/          the path under which it will be published; default /
`;

const site = join(root, 'site');
const dist = join(site, 'dist');

function main(): number {
  const { values } = parseArgs({ options: { serve: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  run('npm', ['run', '--silent', 'build'], root);
  installGenerator();
  stagePages(join(site, 'pages'));
  vitepress('build');
  // publish each page as Markdown, too, for language models
  for (const page of globSync('**/*.md', { cwd: join(site, 'pages') }))
    cpSync(join(site, 'pages', page), join(dist, page));
  const problems = siteProblems(dist, process.env.DOCS_BASE ?? '/');
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) return 1;
  console.log(`${globSync('**/*.html', { cwd: dist }).length} pages in site/dist, all links checked`);
  if (values.serve) vitepress('preview');
  return 0;
}

/** The generator has its own package.json and lock file, so that `npm ci` in the root does not install it. */
function installGenerator(): void {
  const installed = join(site, 'node_modules/.package-lock.json');
  const isCurrent =
    existsSync(installed) && statSync(installed).mtimeMs > statSync(join(site, 'package-lock.json')).mtimeMs;
  if (!isCurrent) run('npm', ['ci', '--no-audit', '--no-fund', '--silent'], site);
}

function vitepress(command: 'build' | 'preview'): void {
  run(process.execPath, ['node_modules/vitepress/bin/vitepress.js', command], site);
}

function run(command: string, args: readonly string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: 'inherit' });
}

process.exitCode = main();
