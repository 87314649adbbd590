import { access, cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PocketAgent } from 'pocket-agent';
import { describe, expect, test } from 'vitest';
import { SEED_MANIFEST, SEED_TOOLS } from '../../../tool-folder/test/fixtures/seed-manifest.ts';
import { chatCommands } from '../../src/chat/chat-commands.ts';
import type { ChatState } from '../../src/chat/chat-state.ts';
import { CommandFolder, commandLine, oddServer, started, stdioServer, toolsFolder } from '../fixtures/command.ts';

const folder = new CommandFolder();
const command = folder.command.bind(folder);

describe('pocket-agent tools', () => {
  /** Capability, origin, and whether the tool is allowed. */
  const rowsOf = (stdout: string) =>
    new Map(
      stdout.split('\n').map((line) => {
        const [tool, capability, from, ...rest] = line.split(/ {2,}/);
        return [tool, [capability, from, rest.at(-1)]];
      }),
    );

  test('lists the built-in tools in aligned columns', async () => {
    const { code, stdout, stderr } = await command(['tools', '--profile', 'reader']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const rows = rowsOf(stdout);
    expect(rows.get('tool')).toEqual(['capability', 'from', 'allowed']);
    expect(rows.get('calculate')).toEqual(['read', 'meta', 'yes']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.at(-1)).toMatch(/^\d+ direct \(about [\d,]+ tokens\)$/);
    const starts = lines.slice(0, -1).map((line) => line.search(/(capability|read) /));
    expect(new Set(starts).size).toBe(1);
  });

  test('shows the origin of each capability and why a profile refuses a tool', async () => {
    const file = await folder.servers('two.json', {
      known: { ...started(stdioServer), capabilities: { meta: 'write' } },
      strange: { ...started(stdioServer), trust: false },
    });
    const { code, stdout } = await command(['tools', '--profile', 'writer', '--config', file]);
    expect(code).toBe(0);
    const rows = rowsOf(stdout);
    expect(rows.get('known_echo')).toEqual(['read', 'annotations', 'yes']);
    expect(rows.get('known_meta')).toEqual(['write', 'config', 'yes']);
    const no = 'no: it can delete, and only read, write is allowed';
    expect(rows.get('known_wait')).toEqual(['delete', 'nothing', no]);
    expect(rows.get('strange_echo')).toEqual(['delete', 'distrust', no]);
  });

  test('shows which tools the model has to find, and what the others cost', async () => {
    const file = await folder.servers('find.json', {
      one: { ...started(stdioServer), exposure: { echo: 'direct', meta: 'hidden', '*': 'deferred' } },
    });
    const { stdout } = await command(['tools', '--mcp', file]);
    const words = stdout.split('\n').map((line) => line.split(/ {2,}/));
    const exposureOf = (name: string) => words.find(([tool]) => tool === name)?.[3];
    expect(['tool', 'echo', 'meta', 'wait'].map(exposureOf)).toEqual(['exposure', 'direct', 'hidden', 'deferred']);
    expect(stdout).toMatch(/\n1 direct \(about \d+ tokens\), \d+ deferred \(about [\d,]+ tokens\), 1 hidden/);
    const agent = join(folder.path, 'exposed.json');
    await writeFile(agent, JSON.stringify({ mcpServers: { one: started(stdioServer) }, exposure: { echo: 'hidden' } }));
    const ofFile = await command(['tools', '--agent', agent]);
    expect(ofFile.stdout).toMatch(/^echo .* hidden /m);
    const all = await command(['tools', '--mcp', file, '--exposure', 'never']);
    expect(all.stderr).toContain('--exposure must be one of auto, direct, deferred, code, hidden');
  });

  test('a server file in the current folder is not used without being named', async () => {
    const home = await mkdtemp(join(folder.path, 'home-'));
    const touch = { command: process.execPath, args: ['-e', `require('fs').writeFileSync('touched', '')`] };
    await writeFile(join(home, 'mcp.json'), JSON.stringify({ mcpServers: { touch } }));
    const { stdout } = await command(['tools'], { cwd: home });
    expect(stdout).toContain('calculate');
    await expect(access(join(home, 'touched'))).rejects.toThrow();
  });

  test('reports a slow server before giving up on it', async () => {
    const deaf = { ...started(oddServer, 'deaf'), waitMs: 50, connectTimeoutMs: 1_000 };
    const file = await folder.servers('deaf.json', { deaf, known: started(stdioServer) });
    const { code, stdout, stderr } = await command(['tools', '--mcp', file]);
    expect(code).toBe(0);
    expect(stdout).toContain('known_echo');
    expect(stderr.split('\n').filter((line) => line.includes('deaf'))).toEqual([
      'server deaf: it has not answered within 50 ms.',
      expect.stringMatching(/^server deaf: .*it did not answer within 1000 ms/),
    ]);
  });

  test('/tools in a chat does not wait longer for a server than a run', async () => {
    const deaf = { ...started(oddServer, 'deaf'), waitMs: 50 };
    await using agent = new PocketAgent({
      agentConfig: { llmModel: 'demo' },
      mcpConfig: { mcpServers: { deaf, known: started(stdioServer) } },
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
    const printed: string[] = [];
    const state = {
      agent,
      sources: [],
      signal: new AbortController().signal,
      print: (...lines: string[]) => void printed.push(...lines),
      connecting: <Value>(work: Promise<Value>) => work,
    };
    await chatCommands.find(({ name }) => name === 'tools')?.run(state as unknown as ChatState, '');
    expect(printed[0]).toBe('server deaf: it has not answered within 50 ms.');
  });

  test('lists the tools of tool folders', async () => {
    const { code, stdout } = await command(['tools', '--tools', 'web', '--tools', 'github']);
    expect(code).toBe(0);
    expect(rowsOf(stdout).get('web_fetch')).toEqual(['read', 'meta', 'yes']);
    expect(stdout).toContain('github');
    expect(stdout).not.toContain('calculate');
  });

  test('a tool without a capability counts as delete and is reported; --default-capability sets one', async () => {
    const own = join(folder.path, 'seed', 'Multiplication');
    await mkdir(own, { recursive: true });
    await writeFile(join(own, 'manifest.yaml'), SEED_MANIFEST);
    await writeFile(join(own, 'tool.mjs'), SEED_TOOLS);
    const listed = await command(['tools', '--tools', own, '--profile', 'manager']);
    expect(listed.code).toBe(0);
    expect(rowsOf(listed.stdout).get('multiply')?.slice(0, 2)).toEqual(['delete', 'nothing']);
    expect(listed.stderr).toMatch(
      /"Multiplication Tool": no capability for "multiply", treated like delete .* --default-capability/,
    );
    const set = ['--tools', own, '--profile', 'manager', '--default-capability', 'read'];
    const { stdout, stderr } = await command(['tools', ...set]);
    expect(stderr).toBe('');
    expect(rowsOf(stdout).get('multiply')).toEqual(['read', 'meta', 'yes']);
    const called = await command(['call', ...set, 'Multiplication', 'multiply', 'multiplicand=6', 'multiplier=7']);
    expect(called).toMatchObject({ code: 0, stdout: '42\n' });
    const wrong = await command(['tools', '--tools', own, '--default-capability', 'raed']);
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain('did you mean "read"?');
  });

  test('tools that only code calls bring run_code', async () => {
    const file = await folder.servers('coded.json', { one: { ...started(stdioServer), exposure: { echo: 'code' } } });
    const { stdout } = await command(['tools', '--mcp', file]);
    expect(stdout).toMatch(/^echo .* code /m);
    expect(stdout).toMatch(/^run_code +read +sub-agent +direct/m);
    expect((await command(['tools', '--exposure', 'code'])).stdout).toMatch(/^run_code /m);
    const plain = await folder.servers('uncoded.json', { one: started(stdioServer) });
    expect((await command(['tools', '--mcp', plain])).stdout).not.toContain('run_code');
  });

  test('the exposure in a manifest is shown', async () => {
    const own = join(folder.path, 'exposed', 'Multiplication');
    await mkdir(own, { recursive: true });
    await writeFile(join(own, 'manifest.yaml'), `${SEED_MANIFEST}\nexposure: deferred\n`);
    await writeFile(join(own, 'tool.mjs'), SEED_TOOLS);
    const { stdout } = await command(['tools', '--tools', own, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ tool: 'multiply', exposure: 'deferred' });
  });

  test('a broken folder is reported with exit code 1, and the others are listed', async () => {
    const own = join(folder.path, 'own');
    await cp(toolsFolder, own, { recursive: true });
    await writeFile(join(own, 'Counter', 'manifest.yaml'), 'tool_list: nothing\n');
    const some = await command(['tools', '--tools', own]);
    expect([some.code, some.stderr]).toEqual([1, expect.stringContaining('manifest.yaml:1:')]);
    expect(rowsOf(some.stdout).get('greet')).toEqual(['read', 'meta', 'yes']);
    const broken = join(own, 'Counter');
    expect(await command(['tools', '--tools', broken])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`No working tools in ${broken}.`),
    });
  });

  test('a named tool is shown with its description and argument schema', async () => {
    const { code, stdout } = await command(['tools', 'calculate']);
    expect(code).toBe(0);
    expect(stdout).toContain('Calculate an arithmetic expression');
    expect(stdout).toContain('"expression": {');
    expect(stdout).not.toContain('convert');
    const unknown = await command(['tools', 'calculat']);
    expect([unknown.code, unknown.stderr]).toEqual([1, 'There is no tool "calculat".\n']);
  });

  test('--json writes one object per line', async () => {
    const home = await mkdtemp(join(folder.path, 'home-'));
    await writeFile(join(home, '.mcp.json'), JSON.stringify({ mcpServers: { one: started(stdioServer) } }));
    const { stdout } = await command(['tools', '--json', '--profile', 'reader', '--config', '.mcp.json'], {
      cwd: home,
    });
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows).toContainEqual({
      tool: 'echo',
      capability: 'read',
      from: 'annotations',
      allowed: true,
      exposure: 'direct',
      tokens: expect.any(Number),
    });
    expect(rows).toContainEqual({
      tool: 'wait',
      capability: 'delete',
      from: 'nothing',
      allowed: false,
      reason: 'it can delete, and only read is allowed',
    });
  });

  test('a failed server is reported; exit code 1 only if no server works', async () => {
    const broken = started(oddServer, 'exits');
    const some = await command([
      'tools',
      '--config',
      await folder.servers('some.json', { broken, one: started(stdioServer) }),
    ]);
    expect(some.code).toBe(0);
    expect(some.stdout).toContain('one_echo');
    expect(some.stderr).toMatch(/^server broken: .*API_TOKEN is wrong/m);
    const none = await command(['tools', '--config', await folder.servers('none.json', { broken })]);
    expect(none).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('No working tools in broken'),
    });
  });

  test('a server file may have comments, trailing commas and a byte order mark', async () => {
    const says = 'http://a/*b*/ " // ,]';
    const entry = {
      command: process.execPath,
      args: ['-e', `console.error(${JSON.stringify(says)}); process.exit(1)`],
    };
    const file = await folder.file(
      'commented.json',
      `\uFEFF// servers of this project
      { "servers": { /* "old": {}, */
        "one": ${JSON.stringify(entry).replace(']}', ', /* none */ ],}')}, // the last one
      } }`,
    );
    const { code, stderr } = await command(['tools', '--mcp', file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^server one: /);
    expect(stderr).toContain(says);
  });

  test('a JSON error after a comment is reported with file, line and column', async () => {
    const file = await folder.file('mistake.json', '{ // one\n  "mcpServers": {} /* two */ "more": 1,\n}');
    const { code, stderr } = await command(['tools', '--mcp', file]);
    expect(code).toBe(2);
    expect(stderr).toContain('mistake.json:2:30: invalid JSON: found a string; expected "," or "}"');
  });

  test('a file that is not JSON or has no servers is reported', async () => {
    const file = join(folder.path, 'broken.json');
    await writeFile(file, '{ nope');
    expect(await command(['tools', '--config', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('broken.json:1:3: invalid JSON: found nope; expected a name in double quotes'),
    });
    await writeFile(file, '{\n  "mcpServers": {\n    "one": nope\n  }\n}');
    expect(await command(['tools', '--config', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('broken.json:3:12: invalid JSON: found nope; expected a value'),
    });
    await writeFile(file, '{ "tests": 3 }');
    expect(await command(['tools', '--config', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('broken.json must contain an object "mcpServers".\n'),
    });
    await writeFile(file, '{ "mcpServer": {} }');
    expect(await command(['tools', '--config', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('an object "mcpServers". It has "mcpServer". Did you mean "mcpServers"?\n'),
    });
  });
});

describe('pocket-agent call', () => {
  const servers = () =>
    folder.servers('call.json', {
      one: { ...started(stdioServer), capabilities: { pid: 'delete', progress: 'read', wait: 'read' } },
      two: started(stdioServer),
    });

  test('calls a tool of one server by its own name, with JSON or key=value', async () => {
    const file = await servers();
    expect(await command(['call', '--mcp', file, 'one', 'echo', '{"text":"1 = one"}'])).toEqual({
      code: 0,
      stdout: '1 = one\n',
      stderr: '',
    });
    expect((await command(['call', '--mcp', file, 'one', 'echo', 'text=2=two'])).stdout).toBe('2=two\n');
    expect((await command(['call', '--mcp', file, 'one', 'progress', 'everyMs=0', 'count=2'])).stdout).toBe(
      'all parts done\n',
    );
    const { stdout } = await command(['call', '--json', 'builtin', 'calculate', 'expression=6*7']);
    expect(JSON.parse(stdout)).toMatchObject({ structuredContent: { value: 42 } });
  });

  test('calls a tool of a tool folder', async () => {
    const { code, stdout } = await command(['call', '--tools', toolsFolder, 'Greeter', 'greet', 'who=Ada']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello Ada!\n' });
  });

  test('an unreachable server is reported, also with -q in a run', async () => {
    const file = await folder.servers('away.json', { away: { url: 'http://127.0.0.1:9/mcp' } });
    const called = await command(['call', '--mcp', file, 'away', 'anything']);
    expect([called.code, called.stdout]).toEqual([1, '']);
    expect(called.stderr).toContain('Could not reach MCP server "away"');
    const asked = await command(['-q', '--model', 'demo', '--mcp', file, 'hello']);
    expect([asked.code, asked.stderr]).toEqual([5, expect.stringContaining('Could not reach MCP server "away"')]);
  });

  test('reports a slow server before giving up on the call', async () => {
    const deaf = { ...started(oddServer, 'deaf'), waitMs: 50, connectTimeoutMs: 1_000 };
    const file = await folder.servers('deaf.json', { deaf });
    const { code, stdout, stderr } = await command(['call', '--mcp', file, 'deaf', 'anything']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^server deaf: it has not answered within 50 ms\.\n.*did not answer within 1000 ms/s);
  });

  test('a tool error is printed on stderr with exit code 1', async () => {
    const { code, stdout, stderr } = await command(['call', 'builtin', 'calculate', 'expression=6 *']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).not.toBe('');
  });

  test('a call that the profile forbids or that is not approved ends with exit code 4', async () => {
    const file = await servers();
    const byProfile = await command(['call', '--mcp', file, '--profile', 'reader', '--yes', 'one', 'pid']);
    expect(byProfile).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('only read is allowed') });
    const unapproved = await command(['call', '--mcp', file, 'one', 'pid']);
    expect(unapproved).toMatchObject({ code: 4, stderr: expect.stringContaining('no approver; --yes allows it') });
    expect((await command(['call', '--mcp', file, '--yes', 'one', 'pid'])).stdout).toMatch(/^\d+\n$/);
    expect((await command(['call', '--mcp', file, '--confirm', 'never', 'one', 'pid'])).code).toBe(0);
  });

  test('--yes also approves what the agent of a server asks about', async () => {
    const served = await folder.file('asking.json', {
      agentConfig: { llmModel: 'demo', name: 'Counting' },
      tools: [toolsFolder],
      access: { confirm: 'always' },
    });
    const [program = '', ...args] = commandLine;
    const entry = { command: program, args: [...args, 'serve', served], env: folder.env, waitMs: 60_000 };
    const file = await folder.servers('nested.json', { nested: entry });
    const call = ['call', '--mcp', file, 'nested', 'Counting-message', 'message=count text=banana'];
    expect((await command([...call, '--yes'])).stdout).toContain('\n11\n');
    // here nothing but the call of the script is approved
    expect((await command([...call, '--confirm', 'never'])).stdout).toContain(
      '"count" was not called: it needs approval',
    );
  });

  test('access rules and audit apply as in a run', async () => {
    const auditFile = join(folder.path, 'calls.jsonl');
    const agent = await folder.file('judged.json', {
      mcpServers: { one: started(stdioServer), two: started(stdioServer) },
      access: { profile: { capabilities: ['read'], deny: ['two_*'] }, auditFile },
    });
    const call = (...args: string[]) => command(['call', '--agent', agent, ...args]);
    expect((await call('one', 'echo', 'text=hi')).stdout).toBe('hi\n');
    expect(await call('two', 'echo', 'text=hi')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('"two_echo" may not be called here: it is on the deny list'),
    });
    const records = (await readFile(auditFile, 'utf8')).trim().split('\n');
    expect(records.map((line) => JSON.parse(line))).toMatchObject([
      { tool: 'one_echo', decision: 'allowed', outcome: 'done' },
      { tool: 'two_echo', decision: 'refused', outcome: 'not run' },
    ]);
  });

  test.each([
    [['onee', 'echo'], '"onee". Did you mean "one"? Available: builtin, one, two. For a tool folder, add --tools'],
    [['one', 'ecko'], 'There is no tool "ecko". Did you mean "echo"?'],
    [
      ['one', 'echo', '{\n "text":'],
      'Invalid arguments: line 2, column 9: found the end of the text; expected a value.',
    ],
    [['one', 'echo', 'txet=hi'], 'tool "echo" has no argument "txet". Did you mean "text"?'],
    [['one', 'echo', 'text'], '"text" is neither a JSON object nor key=value'],
  ])('wrong usage is explained: %j', async (args, message) => {
    const { code, stderr } = await command(['call', '--mcp', await servers(), ...args]);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});
