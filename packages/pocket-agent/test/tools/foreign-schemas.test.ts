// Schemas of MCP servers are checked in child processes: whatever they contain, this process stays free, deadlines and
// signals work, and the caller gets an error that names the tool.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkForeign } from 'pocket-agent';
import { build } from 'rolldown';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CommandFolder, commandLine } from '../../../cli/test/fixtures/command.ts';
import type { Host } from '../fixtures/servers/http-hosts.ts';
import { json, listing, plainHost } from '../fixtures/servers/plain-host.ts';
import { eventually, isAlive, open, testClient } from '../fixtures/world.ts';
import { resultText, scriptedAgent } from '../helpers.ts';

const slowText = `${'a'.repeat(32)}!`;
const slowPattern = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };

/** Each level doubles the work of the one before. */
function doubling(levels: number, level: (next: object) => object, last: object) {
  const defs = Array.from({ length: levels }, (_, index) => [`l${index}`, level({ $ref: `#/$defs/l${index + 1}` })]);
  return { type: 'object', $ref: '#/$defs/l0', $defs: Object.fromEntries([...defs, [`l${levels}`, last]]) };
}

const manyDefaults = doubling(
  40,
  (next) => ({ type: 'object', default: {}, properties: { left: next, right: next } }),
  { default: 1 },
);

const hostileOutputs: [string, object, object][] = [
  ['pattern', slowPattern, { text: slowText }],
  ['pattern_properties', { type: 'object', patternProperties: { '^(a+)+$': { type: 'null' } } }, { [slowText]: 1 }],
  ['choices', doubling(40, (next) => ({ anyOf: [next, next] }), { required: ['missing'] }), {}],
  [
    'unique_items',
    {
      type: 'object',
      properties: { list: { allOf: Array.from({ length: 500 }, () => ({ uniqueItems: true })) } },
    },
    { list: Array.from({ length: 4_000 }, (_, index) => ({ index })) },
  ],
];

function serverWith(tool: object, result: object = { content: [] }): Promise<Host> {
  return open(plainHost({ 'tools/list': listing(tool), 'tools/call': json({ result }) }));
}

async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

const calls = (host: Host) => host.seen.filter(({ method }) => method === 'tools/call');

describe('an output schema', () => {
  test('that takes too long to check fails its call alone, and this process stays free', async () => {
    const entries = hostileOutputs.map(async ([name, outputSchema, structuredContent]) => {
      const { url } = await serverWith({ outputSchema }, { content: [], structuredContent });
      return [name, { url }] as const;
    });
    const { client } = testClient({
      mcpConfig: { mcpServers: Object.fromEntries(await Promise.all(entries)) },
      toolPrefix: 'always',
    });
    const tools = await client.listTools();
    const toolCalls = tools.map(({ name }) => ({ name }));
    const { agent } = scriptedAgent([{ toolCalls }, 'Done.'], { mcpClient: client });
    expect(await cpuMs(() => agent.run('Go.'))).toBeLessThan(2_000);
    for (const [index, [name]] of hostileOutputs.entries()) {
      expect(resultText(agent, index)).toMatch(
        new RegExp(
          `"it" of MCP server "${name}" was called, but its result could not be checked .* (longer than|out of memory)`,
        ),
      );
    }
  });

  test('is checked for results as large as a message may be', async () => {
    const rows = Array.from({ length: 9 }, () => 'x'.repeat(1_000_000));
    const items = { type: 'string' };
    const outputSchema = { type: 'object', properties: { rows: { type: 'array', items } }, required: ['rows'] };
    const host = await serverWith({ outputSchema }, { content: [], structuredContent: { rows } });
    const { client } = testClient({ mcpConfig: { mcpServers: { large: { url: host.url } } } });
    const results = await Promise.all([1, 2, 3].map(() => client.callTool('it', {})));
    expect(results.map((result) => JSON.stringify(result).length > 9_000_000)).toEqual([true, true, true]);
  });

  test('that is too long is refused before the call', async () => {
    const host = await serverWith({ outputSchema: { type: 'object', description: 'x'.repeat(1_100_000) } });
    const { client } = testClient({ mcpConfig: { mcpServers: { vast: { url: host.url } } } });
    await expect(client.callTool('it', {})).rejects.toMatchObject({
      code: 'MCP_REQUEST_FAILED',
      message: expect.stringMatching(/"it" of MCP server "vast" was not called: .* longer than 1000000 characters/),
    });
    expect(calls(host)).toEqual([]);
  });

  test('that is invalid is refused before the call', async () => {
    const host = await serverWith({ outputSchema: { type: 'object', properties: { a: { pattern: '(' } } } });
    const { client } = testClient({ mcpConfig: { mcpServers: { odd: { url: host.url } } } });
    await expect(client.callTool('it', {})).rejects.toThrow('"it" of MCP server "odd" was not called');
    expect(calls(host)).toEqual([]);
  });

  test('does not hold a run beyond its deadline', async () => {
    const answer = { content: [], structuredContent: { text: slowText } };
    const { url } = await serverWith({ outputSchema: slowPattern }, answer);
    const { client } = testClient({ mcpConfig: { mcpServers: { evil: { url } } } });
    await client.listTools();
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'it' }] }], { mcpClient: client });
    const run = agent.run('Go.', { timeoutMs: 300 });
    const spent = cpuMs(() => expect(run).rejects.toMatchObject({ code: 'TIMEOUT' }));
    expect(await spent).toBeLessThan(1_500);
  });
});

describe('an input schema, where calls need approval', () => {
  test.each<[string, object, Record<string, unknown>, RegExp]>([
    ['a pattern that backtracks', slowPattern, { text: slowText }, /longer than \d000 ms/],
    ['defaults that grow exponentially', manyDefaults, { left: {} }, /defaults add more than/],
  ])('with %s refuses the call, and this process stays free', async (_what, inputSchema, args, reason) => {
    const host = await serverWith({ inputSchema });
    let asked = 0;
    const { agent } = scriptedAgent([{ toolCalls: [{ name: 'it', arguments: args }] }, 'Done.'], {
      mcpConfig: { mcpServers: { evil: { url: host.url } } },
      access: { confirm: 'always' },
      approve: () => {
        asked++;
        return 'allow';
      },
    });
    expect(await cpuMs(() => agent.run('Go.'))).toBeLessThan(1_500);
    await agent.close();
    expect(resultText(agent)).toMatch(/^"it" was not called: its arguments could not be checked/);
    expect(resultText(agent)).toMatch(reason);
    expect([asked, calls(host)]).toEqual([0, []]);
  });
});

describe('a check', () => {
  test('that is slow does not delay those of other servers, and ends when it is aborted', async () => {
    const controller = new AbortController();
    const slow = Array.from({ length: 3 }, () =>
      checkForeign({
        schema: slowPattern,
        value: { text: 'a'.repeat(60).concat('!') },
        origin: 'evil',
        signal: controller.signal,
      }),
    );
    const aborted = Promise.allSettled(slow);
    const quick = await checkForeign({ schema: { type: 'string' }, value: 1, origin: 'good' });
    expect(quick).toEqual({ problem: 'must be string' });
    controller.abort(new Error('enough'));
    expect((await aborted).map((each) => each.status === 'rejected' && each.reason.message)).toEqual(
      Array.from({ length: 3 }, () => 'enough'),
    );
  });

  test('that is cancelled makes room for others of its server', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const slow = { schema: slowPattern, value: { text: 'a'.repeat(60).concat('!') }, origin: 'crowded', signal };
    const waiting = { schema: {}, value: 'x'.repeat(4_900_000), origin: 'crowded' };
    const cancelled = Promise.allSettled([
      checkForeign(slow),
      ...Array.from({ length: 10 }, () => checkForeign({ ...waiting, signal })),
    ]);
    expect(await checkForeign(waiting)).toEqual({ unchecked: 'too many checks are waiting' });
    controller.abort(new Error('enough'));
    await cancelled;
    const after = await Promise.all(Array.from({ length: 10 }, () => checkForeign(waiting)));
    expect(after).toEqual(Array.from({ length: 10 }, () => ({ fits: true })));
  });

  test('does not keep a program from ending, and ends with the program that waits for it', async () => {
    const program = `
      import { checkForeign } from 'pocket-agent';
      const schema = { type: 'object', required: ['a'] };
      console.log(JSON.stringify(await checkForeign({ schema, value: { a: 1 }, origin: 'x' })));`;
    const args = ['-C', 'pocket-agent/source', '--input-type=module', '--eval', program];
    const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"fits":true}\n' });
  });

  test('gets no environment variables, and ends soon after a program that was killed', async () => {
    const program = `
      import { checkForeign } from 'pocket-agent';
      const schema = { type: 'object', properties: { text: { pattern: '^(a+)+$' } } };
      await checkForeign({ schema, value: {}, origin: 'x' });
      console.log('started');
      await checkForeign({ schema, value: { text: 'a'.repeat(60) + '!' }, origin: 'x' });`;
    const args = ['-C', 'pocket-agent/source', '--input-type=module', '--eval', program];
    const child = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const checker = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
    expect(readFileSync(`/proc/${checker}/environ`, 'utf8')).not.toContain('PATH=');
    expect(isAlive(checker)).toBe(true);
    child.kill('SIGKILL');
    await eventually(() => expect(isAlive(checker)).toBe(false));
  });

  test('that runs out of memory ends alone', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `p${index}`);
    const schema = {
      properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/long' }])),
      $defs: { long: { default: 'x'.repeat(900_000) } },
    };
    const check = checkForeign({ schema, value: {}, defaults: true, origin: 'x' });
    expect(await check).toEqual({ unchecked: expect.stringMatching(/perhaps out of memory|longer/) });
    expect(await checkForeign({ schema: { type: 'object' }, value: {}, origin: 'x' })).toEqual({ fits: true });
  });
});

describe('the command', () => {
  const folder = new CommandFolder();

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends with %s while the result of a tool is checked', async (signal, code) => {
    const structuredContent = { text: 'a'.repeat(60).concat('!') };
    const host = await serverWith({ outputSchema: slowPattern }, { content: [], structuredContent });
    const file = await folder.servers('evil.json', { evil: { url: host.url } });
    const [node = '', ...args] = [...commandLine, 'call', '--yes', '--config', file, 'evil', 'it'];
    const child = spawn(node, args, { env: folder.env, stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await eventually(() => expect(calls(host)).toHaveLength(1));
    child.kill(signal);
    const giveUp = setTimeout(() => child.kill('SIGKILL'), 20_000);
    expect(await ended).toBe(code);
    clearTimeout(giveUp);
  });
});

test('a value that would fill the memory of a check is refused before it', async () => {
  const value = { list: 'x'.repeat(11_000_000) };
  const verdict = await checkForeign({ schema: { type: 'object' }, value, origin: 'a large value' });
  expect(verdict).toEqual({ unchecked: 'the value is longer than 11000000 characters' });
});

test('a program in one file, which lacks the program of the checks, is told what to leave out of the bundle', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bundled-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const entry = join(folder, 'entry.js');
  const source = fileURLToPath(new URL('../../src/base/foreign-schema.ts', import.meta.url));
  const program = `import { checkForeign } from ${JSON.stringify(source)};
    console.log(JSON.stringify(await checkForeign({ schema: {}, value: 1, origin: 1 })));`;
  writeFileSync(entry, program);
  const file = join(folder, 'program.js');
  await build({
    input: entry,
    platform: 'node',
    resolve: { conditionNames: ['pocket-agent/source', 'node', 'import', 'default'] },
    output: { file, format: 'esm', codeSplitting: false },
    logLevel: 'silent',
  });
  expect(JSON.parse(execFileSync(process.execPath, [file], { encoding: 'utf8' }))).toEqual({
    unchecked: expect.stringContaining('leave pocket-agent out of the bundle'),
  });
});
