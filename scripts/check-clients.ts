// `npm run test:clients`: MCP clients of other projects use a gateway over HTTP. One of them also starts a gateway on stdio.
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { Gateway, openGatewayState } from '../packages/gateway/src/index.ts';
import { showHelp } from './show-help.ts';
import { root } from './workspaces.ts';

const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0';
const INSTALL_MS = 400_000;
const RUN_MS = 120_000;
const runFile = promisify(execFile);

function notes(): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  const inputSchema = z.object({ text: z.string() });
  const add = { inputSchema, description: 'Adds a note', annotations: { destructiveHint: false } };
  server.registerTool('add', add, ({ text }) => ({ content: [{ type: 'text', text: `noted: ${text}` }] }));
  server.registerTool('erase', { description: 'Erases all' }, () => ({ content: [] }));
  server.registerResource('first', 'notes://first', {}, ({ href }) => ({ contents: [{ uri: href, text: 'milk' }] }));
  return server;
}

/** Installs a peer of the benchmark in a new folder, from its lock file. */
function installPeer(folder: string, peer: string): string {
  mkdirSync(folder);
  for (const file of ['package.json', 'package-lock.json'])
    cpSync(join(root, 'bench/peers', peer, file), join(folder, file));
  return npm(folder, 'ci');
}

function installInspector(folder: string): string {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  return npm(folder, 'install', INSPECTOR);
}

function npm(folder: string, ...args: string[]): string {
  const quietly = ['--silent', '--no-audit', '--no-fund', '--ignore-scripts'];
  execFileSync('npm', [...args, ...quietly], {
    cwd: folder,
    timeout: INSTALL_MS,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  cpSync(join(root, 'scripts/clients'), folder, { recursive: true });
  return folder;
}

/** Runs a client. It must print all of these words, but not the tool that the caller may not see. */
async function check(
  name: string,
  [command = '', ...args]: string[],
  cwd: string,
  words: readonly string[],
): Promise<void> {
  const { stdout } = await runFile(command, args, { cwd, timeout: RUN_MS });
  const missing = words.filter((word) => !stdout.includes(word));
  if (missing.length > 0 || stdout.includes('notes__erase'))
    throw new Error(`${name} must print ${words.join(', ')} and not notes__erase. It printed:\n${stdout}`);
  console.log(`✓ ${name}`);
}

showHelp('npm run test:clients   MCP clients of other projects use a gateway\n');
const node = process.execPath;
const tempFolder = mkdtempSync(join(tmpdir(), 'pocket-agent-clients-'));
const state = await openGatewayState(':memory:');
const gateway = new Gateway({ mcpServers: { notes: { server: notes } }, state });
try {
  const { url } = await gateway.listen();
  const token = await state.addCaller('client', { profile: 'writer' });
  const inspector = installInspector(join(tempFolder, 'inspector'));
  const cli = [join(inspector, 'node_modules/.bin/mcp-inspector'), '--cli'];
  const overHttp = [...cli, url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`];
  const patient = ['--connect-timeout', String(RUN_MS)]; // its default of 15 s is too short for a busy machine
  const call = ['--method', 'tools/call', '--tool-name', 'notes__add', '--tool-arg', 'text=milk'];
  await check('inspector: tools/list', [...overHttp, '--method', 'tools/list', ...patient], inspector, [
    '"notes__add"',
  ]);
  await check('inspector: tools/call', [...overHttp, ...call, ...patient], inspector, ['noted: milk']);
  const resources = ['--method', 'resources/list', ...patient];
  await check('inspector: resources/list', [...overHttp, ...resources], inspector, ['notes://first']);
  const main = join(root, 'packages/cli/src/main.ts');
  const file = join(inspector, 'gateway.json');
  writeFileSync(file, JSON.stringify({ tools: ['web'] }));
  const program = [...cli, node, '-C', 'pocket-agent/source', main, 'gateway', file];
  const tools = ['--method', 'tools/list', ...patient];
  await check('inspector: a gateway on stdio', [...program, ...tools], inspector, ['"web__']);

  const words = ['notes__add', 'noted: milk'];
  for (const [name, peer] of Object.entries({ 'AI SDK': 'ai', LangChain: 'langchain' }))
    await check(name, [node, `${peer}.mjs`, url, token], installPeer(join(tempFolder, peer), peer), words);
} finally {
  await gateway.close();
  await state.close();
  rmSync(tempFolder, { recursive: true, force: true });
}
