// Programs that export their own spans and metrics, to an OTLP receiver over HTTP.
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test } from 'vitest';
import { receiver } from '../../pocket-agent/test/fixtures/programs/otlp-receiver.ts';
import { CommandFolder, commandLine, stdioServer, toolsFolder } from './fixtures/command.ts';

const folder = new CommandFolder();
const program = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

describe('pocket-agent', () => {
  test('exports spans and metrics, without the question', async () => {
    const collector = await receiver();
    const { code, stdout } = await folder.spawned(['What is 17% of 2380?', '-m', 'demo'], { env: collector.env });
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('404.6') });
    const names = collector.spans().map(({ name }) => name.replace(/ .*/, ''));
    expect(new Set(names)).toEqual(new Set(['invoke_agent', 'chat', 'execute_tool', 'tools/call']));
    expect(collector.resource()).toMatchObject({ 'service.name': 'pocket-agent' });
    expect(collector.metrics().map(({ name }) => name)).toContain('gen_ai.client.operation.duration');
    expect(collector.text()).not.toMatch(/17%|404\.6/);
  });

  test.each(['http/protobuf', undefined])('exports as protobuf, with the protocol %s', async (protocol) => {
    const { env, binary, spans } = await receiver();
    const { OTEL_EXPORTER_OTLP_PROTOCOL: _json, ...others } = env;
    const outcome = await folder.spawned(['What is 17% of 2380?', '-m', 'demo'], {
      env: { ...others, ...(protocol ? { OTEL_EXPORTER_OTLP_PROTOCOL: protocol } : {}) },
    });
    expect(outcome.code).toBe(0);
    expect(Object.keys(binary).sort()).toEqual(['/v1/metrics', '/v1/traces']);
    expect(binary['/v1/traces']?.toString('latin1')).toMatch(
      /invoke_agent[\s\S]*execute_tool|execute_tool[\s\S]*invoke_agent/,
    );
    expect(binary['/v1/metrics']?.includes('gen_ai.client.operation.duration')).toBe(true);
    expect(spans()).toEqual([]);
  });

  test('shows the question if the agent file has traceContent', async () => {
    const collector = await receiver();
    const file = await folder.file('traced.json', { llmModel: 'demo', traceContent: true });
    await folder.spawned(['How are you today?', '--agent', file], {
      env: { ...collector.env, OTEL_SERVICE_NAME: 'desk' },
    });
    expect(collector.text()).toContain('How are you today?');
    expect(collector.resource()).toMatchObject({ 'service.name': 'desk' });
  });

  test('names the packages to install if they are missing, and works', async () => {
    const collector = await receiver();
    const hook = await folder.file(
      'without-sdk.mjs',
      `import { registerHooks } from 'node:module';
      registerHooks({ resolve(specifier, context, next) {
        if (!specifier.startsWith('@opentelemetry/')) return next(specifier, context);
        throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
      } });`,
    );
    const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import ${JSON.stringify(hook)}`;
    const outcome = await folder.spawned(['Hello', '-m', 'demo'], { env: { ...collector.env, NODE_OPTIONS } });
    expect(outcome.code).toBe(0);
    expect(outcome.stderr).toContain(
      'pocket-agent: OTEL_EXPORTER_OTLP_ENDPOINT is set, but nothing is exported: the SDK is not installed: npm install @opentelemetry/api @opentelemetry/sdk-node\n',
    );
  });

  test('answers and ends as usual if nothing receives its spans', async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
    const outcome = await folder.spawned(['Hello', '-m', 'demo'], { env });
    expect(outcome).toMatchObject({ code: 0, stdout: expect.stringContaining('demo') });
    expect(outcome.stderr).toContain(
      'the last spans and metrics were not exported to http://127.0.0.1:9 (OTEL_EXPORTER_OTLP_ENDPOINT): connect ECONNREFUSED 127.0.0.1:9\n',
    );
    expect(outcome.stderr).not.toMatch(/\n\s+at /); // no stack trace
  });

  test('--help and --version load nothing for it', async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', NODE_DEBUG: 'esm', NODE_OPTIONS: '' };
    for (const flag of ['--help', '--version'])
      expect((await folder.spawned([flag], { env })).stderr).not.toContain('opentelemetry');
  });
});

const servers = {
  'pocket-agent gateway': {
    start: async () => [
      ...commandLine.slice(1),
      'gateway',
      await folder.file('traced-gateway.json', {
        mcpServers: { plain: { command: process.execPath, args: [stdioServer] } },
      }),
      '--profile',
      'reader',
    ],
    call: 'plain__echo',
    service: 'pocket-agent',
  },
  'pocket-agent serve-tools': {
    start: async () => [...commandLine.slice(1), 'serve-tools', toolsFolder],
    call: 'greet',
    service: 'pocket-agent',
  },
  'mcp-server-mattermost': {
    start: async () => ['-C', 'pocket-agent/source', program('mattermost/src/main.ts')],
    call: 'list_teams',
    service: 'mcp-server-mattermost',
  },
  agent3: {
    start: async () => ['-C', 'pocket-agent/source', program('agent3/src/main.ts')],
    call: 'agent3_guide',
    service: 'agent3',
  },
} as const;

test.each(Object.entries(servers))('%s continues the trace of its client', async (_name, { start, call, service }) => {
  const collector = await receiver();
  const client = new Client({ name: 'tests', version: '1' });
  onTestFinished(() => client.close());
  const env = {
    ...folder.env,
    ...collector.env,
    MATTERMOST_URL: 'http://127.0.0.1:9',
    MATTERMOST_TOKEN: 'none',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  };
  const args = await start();
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, env, cwd: folder.path, stderr: 'ignore' }),
  );
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await client.callTool({ name: call, arguments: {}, _meta: { traceparent } }).catch(() => {}); // also a failed call counts
  await expect.poll(() => collector.spans().length).toBeGreaterThan(0);
  expect(collector.spans()).toContainEqual(expect.objectContaining({ name: `tools/call ${call}`, kind: 2 }));
  expect(collector.text()).toContain('"traceId":"0af7651916cd43dd8448eb211c80319c"');
  expect(collector.resource()).toMatchObject({ 'service.name': service });
});
