// `npm run test:providers [-- FOLDER | --latest]`: checks the table of model providers against real packages. Each package is
// installed in a temporary folder, or is in FOLDER, and must make a model of AI SDK 7 that sends the key to a local endpoint.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type LanguageModel, resolveModel } from 'pocket-agent';
import { type KnownProvider, knownProviders } from 'pocket-agent/internal';
import { showHelp } from './show-help.ts';

const INSTALL_MS = 240_000;
const KEY = 'key-of-the-check';
/** A package whose newest version makes models of AI SDK 6, which must be refused. */
const OLD_PACKAGE = '@ai-sdk/vercel';

/** The versions that CI tries; `npm run test:providers -- --latest` tries the newest. */
const pinned: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('provider-versions.json', import.meta.url), 'utf8'),
);
const isLatest = process.argv.includes('--latest');

function install(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pocket-agent-providers-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  const packages = [...new Set([...knownProviders.map(({ packageName }) => packageName), OLD_PACKAGE])];
  const args = ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts'];
  const unpinned = packages.filter((name) => !pinned[name]);
  if (unpinned.length > 0) throw new Error(`scripts/provider-versions.json needs a version of ${unpinned.join(', ')}.`);
  const versions = packages.map((name) => `${name}@${isLatest ? 'latest' : pinned[name]}`);
  execFileSync('npm', [...args, ...versions], {
    cwd: folder,
    timeout: INSTALL_MS,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return folder;
}

const requests: IncomingMessage[] = [];
const server = createServer((request, response) => {
  requests.push(request);
  request.resume().on('end', () => response.writeHead(401, { 'content-type': 'application/json' }).end('{}'));
});

/** The problem with a row of the table; undefined if it works. */
async function problemOf({ prefix, aliases }: KnownProvider, baseUrl: string): Promise<string | undefined> {
  for (const name of [prefix, ...aliases]) {
    requests.length = 0;
    const settings = { apiKey: KEY, baseUrl, region: 'us-east-1', project: 'mine' };
    try {
      await call(await resolveModel(`${name}/some-model`, settings));
    } catch (error) {
      return `${name}/: ${String(error)}`;
    }
    const [request] = requests;
    if (!request) return `${name}/: no request arrived`;
    if (!JSON.stringify([request.headers, request.url]).includes(KEY)) return `${name}/: the key was not sent`;
  }
  return undefined;
}

/** Claude on Vertex has its own entry point, and needs Google credentials instead of a key. */
async function checkVertexClaude(): Promise<string | undefined> {
  const { provider } = await resolveModel('vertex_ai/claude-sonnet-4-5', { project: 'mine' });
  return provider.includes('anthropic') ? undefined : `vertex_ai/claude-…: made a model of ${provider}`;
}

/** Makes a call, which fails because the endpoint refuses the key. */
async function call(model: LanguageModel): Promise<void> {
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }];
  await model.doGenerate({ prompt }).then(
    () => undefined,
    () => undefined,
  );
}

async function checkOldModel(): Promise<string | undefined> {
  const file = createRequire(resolve('package.json')).resolve(OLD_PACKAGE);
  const { createVercel } = await import(pathToFileURL(file).href);
  const refusal = await resolveModel(createVercel({ apiKey: KEY })('v0')).then(
    () => 'accepted',
    (error) => String(error),
  );
  return refusal.includes('is a model of AI SDK 6 (V3)') ? undefined : `${OLD_PACKAGE}: ${refusal}`;
}

showHelp(`npm run test:providers               installs the packages of all model providers, and calls each with a key
npm run test:providers -- --latest   uses their newest versions, not those of scripts/provider-versions.json
npm run test:providers -- FOLDER     uses the packages that are installed in FOLDER
`);
const givenFolder = process.argv.slice(2).find((argument) => argument !== '--latest');
process.chdir(givenFolder ? resolve(givenFolder) : install());
// the library looks for provider packages beside itself and beside the program
process.argv[1] = resolve('check-providers.ts');
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const problems: string[] = [];
for (const provider of knownProviders) {
  const problem = await problemOf(provider, baseUrl);
  if (problem) problems.push(problem);
  console.log(`${problem ? 'broken' : 'ok    '}  ${provider.prefix}: ${provider.packageName}`);
}
for (const problem of [await checkOldModel(), await checkVertexClaude()]) if (problem) problems.push(problem);
server.closeAllConnections();
server.close();
for (const text of problems) console.error(text);
process.chdir(tmpdir());
process.exitCode = problems.length === 0 ? 0 : 1;
