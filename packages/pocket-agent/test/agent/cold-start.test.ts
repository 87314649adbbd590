// Importing the package must load nothing but this repository: SDKs, providers and zod come at first use.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { quickStart } from '../fixtures/programs/quick-start.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

/** The modules that the parts of a program load, as Node resolves them: for each part also those of the parts before it. */
function modulesOf(...parts: string[]): string[][] {
  const spy = `import { registerHooks } from 'node:module';
    const urls = new Set();
    const lists = [];
    registerHooks({ resolve(specifier, context, next) {
      const found = next(specifier, context);
      urls.add(found.url);
      return found;
    } });
    globalThis.partEnds = () => lists.push([...urls]);
    process.on('exit', () => console.log(JSON.stringify(lists)));`;
  const program = parts.map((part) => `{ ${part} }\npartEnds();`).join('\n');
  const preload = `data:text/javascript,${encodeURIComponent(spy)}`;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['-C', 'pocket-agent/source', '--import', preload, '--input-type=module', '--eval', program],
    { cwd: here, env: { ...process.env, NODE_OPTIONS: '' }, encoding: 'utf8' }, // without bundles
  );
  expect(stderr).toBe('');
  expect(status).toBe(0);
  const lists: string[][] = JSON.parse(stdout.trim());
  return lists.map((urls) => urls.filter((url) => !url.startsWith('data:')));
}

const isOurs = (url: string) => /\/packages\/((pocket-agent|kit|schema)\/src\/|http\/src\/json-weight\.)/.test(url);

test('importing pocket-agent and making an agent with a model, tools and MCP servers loads no package from outside', () => {
  const imports = `await import('pocket-agent');`;
  const makes = `
    const { PocketAgent, tool } = await import('pocket-agent');
    new PocketAgent({
      agentConfig: { llmModel: 'anthropic/claude-sonnet-5', systemPrompt: 'Hi' },
      mcpConfig: { mcpServers: { files: { command: 'nothing' }, web: { url: 'http://127.0.0.1:9/mcp' } } },
      tools: [tool({ name: 'look', description: 'Looks', run: () => 'a cat' })],
    });`;
  const [imported = [], made = []] = modulesOf(imports, makes);
  expect(imported.some((url) => url.endsWith('/src/index.ts'))).toBe(true);
  const lazy = ['demo-model/model', 'sampling', 'serve', 'http-server', 'testing'];
  expect(imported.filter((url) => lazy.some((name) => url.endsWith(`/src/${name}.ts`)))).toEqual([]);
  expect(made.filter((url) => !isOurs(url) && url.startsWith('file:'))).toEqual([]);
});

test('calling a tool of a server that speaks stdio loads no HTTP client of Node', () => {
  const [urls = []] = modulesOf(`
    for (const name of ['Response', 'Headers']) {
      Object.defineProperty(globalThis, name, { get: () => { throw new Error(name + ' was loaded'); } });
    }
    const { PocketAgentClient } = await import('pocket-agent');
    const args = ['-C', 'pocket-agent/source', '../fixtures/servers/stdio-server.ts'];
    const it = { command: process.execPath, args, env: ${JSON.stringify(quickStart)}, waitMs: 60_000 };
    const client = new PocketAgentClient({ mcpConfig: { mcpServers: { it } } });
    await client.callTool('echo', { text: 'hi' });
    await client.close();`);
  expect(urls.some((url) => url.includes('/@modelcontextprotocol/client/'))).toBe(true);
  expect(urls.filter((url) => ['node:http', 'node:https'].includes(url))).toEqual([]);
});

test('a run loads the package of its own provider and no other', () => {
  const [urls = []] = modulesOf(`
    const { PocketAgent } = await import('pocket-agent');
    const modelSettings = { apiKey: 'none', baseUrl: 'http://127.0.0.1:9/v1' };
    const agentConfig = { llmModel: 'openai-compatible/none', modelSettings };
    await new PocketAgent({ agentConfig, limits: { modelRetries: 0 } }).run('Hello').catch(() => {});`);
  const packages = urls.map((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]);
  expect(packages).toContain('@ai-sdk/openai-compatible');
  for (const other of ['@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/google', '@modelcontextprotocol/client']) {
    expect(packages).not.toContain(other);
  }
});

test('on a Node that is too old the import says so', async () => {
  const { versions } = process;
  onTestFinished(() => void Object.defineProperty(process, 'versions', { value: versions }));
  Object.defineProperty(process, 'versions', { value: { ...versions, node: '22.17.1' } });
  const loadedAgain: string = '../../src/index.ts?on-an-old-node';
  await expect(import(loadedAgain)).rejects.toThrow('pocket-agent needs Node 22.18 or newer');
});

test('a run loads the API of OpenTelemetry only if the application has registered a provider', () => {
  const run = `const { PocketAgent } = await import('pocket-agent');
    const agent = new PocketAgent({ llmModel: 'demo' });
    await agent.run('Hello');`;
  const isApi = (url: string) => url.includes('/@opentelemetry/api/');
  const register = `
    const require = (await import('node:module')).createRequire(${JSON.stringify(import.meta.url)});
    const { TracerProvider } = require('@opentelemetry/sdk-trace');
    require('@opentelemetry/api').trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [] }));`;
  const esm = (url: string) => isApi(url) && url.endsWith('.mjs');
  const [without = [], registered = [], traced = []] = modulesOf(run, register, run);
  expect(without.filter(isApi)).toEqual([]);
  expect(registered.filter(esm)).toEqual([]);
  expect(traced.filter(esm)).not.toEqual([]);
});
