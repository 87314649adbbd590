// Type-checks every TypeScript block of the README, the docs and the first page of the site, and runs each as a program.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { showHelp } from './show-help.ts';

showHelp(`npm run snippets            type-checks and runs every TypeScript block of the documentation
npm run snippets -- PAGE…   only those of some pages, such as docs/models.md
`);

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, '.snippets');
const wanted = process.argv.slice(2);
const all = [
  'README.md',
  'site/index.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const unknown = wanted.find((page) => !all.includes(page));
if (unknown !== undefined) {
  console.error(`There is no page "${unknown}". Name pages by their path, such as docs/models.md.`);
  process.exit(2);
}
const pages = wanted.length > 0 ? wanted : all;

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const files = pages.flatMap((page) => {
  const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)];
  return blocks.map(([, code = ''], index) => {
    const file = join(folder, `${page.replaceAll('/', '-').replace('.md', '')}-${index + 1}.ts`);
    writeFileSync(file, code);
    return file;
  });
});
const config = { extends: '../tsconfig.check.json', include: ['*.ts'] };
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));

let failed = 0;
try {
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { stdio: 'inherit' });
} catch {
  failed++; // tsc has printed the errors
}
for (const file of files) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-C', 'pocket-agent/source', file], {
    encoding: 'utf8',
    timeout: 180_000,
    cwd: root,
  });
  const name = file.slice(folder.length + 1);
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  if (status === 0) continue;
  failed++;
  console.log(`${stdout}\n${stderr}`);
}
rmSync(folder, { recursive: true, force: true });
console.log(`${files.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
