// Hostile scripts: none leaves the sandbox, uses more than its bounds, or disturbs the program.
import { tool } from 'pocket-agent';
import { expect, test } from 'vitest';
import { add, expectValidHistory, resultText } from '../../pocket-agent/test/helpers.ts';
import { codingAgent, echo, run } from './helpers.ts';

const CPU = { maxCpuMs: 20 };
const OVER_CPU = 'The script used more than 20 ms of CPU time and was ended.';

test('constructor chains end at the globals of the sandbox', async () => {
  const code = `
    const roots = [
      [].constructor.constructor('return this')(),
      (async () => {}).constructor('return globalThis')(),
      tools.echo.constructor('return globalThis')(),
      console.log.constructor('return globalThis')(),
      await tools.echo({}).then((value) => value.constructor.constructor('return globalThis')()),
    ];
    return (await Promise.all(roots)).every((each) => each === globalThis);`;
  expect(await run(code, { tools: [echo] })).toBe('true');
  const names = `
    const root = [].constructor.constructor('return this')();
    const error = await tools.echo(1).catch((error) => error);
    const other = error.constructor.constructor('return globalThis')();
    const known = ['process', 'require', 'module', 'fetch', 'WebAssembly', 'Buffer', 'Worker', 'global', 'Deno', 'Bun', 'std', 'os'];
    return [root === await other, known.filter((name) => name in root), Object.keys(root)];`;
  expect(JSON.parse(await run(names, { tools: [echo] }))).toEqual([true, [], []]);
});

test('there are no modules, timers, files or network, and no clock finer than a millisecond', async () => {
  expect(await run('return await import("node:fs")')).toMatch(/could not load module/);
  expect(await run('import fs from "node:fs"')).toMatch(/^SyntaxError/);
  const names = 'setTimeout setInterval setImmediate performance XMLHttpRequest WebSocket Worker';
  const found = await run(`return '${names}'.split(' ').filter((name) => name in globalThis)`);
  expect(found).toBe('[]');
  const code = `
    const ticks = new Set();
    for (let i = 0; i < 2000; i++) ticks.add(Date.now() % 1);
    return [...ticks];`;
  expect(await run(code)).toBe('[0]');
});

test('prototypes polluted by a script are those of the sandbox', async () => {
  const code = `
    Object.prototype.isAdmin = true;
    Object.prototype.toJSON = () => ({ name: 'add' });
    Array.prototype.map = () => ['evil'];
    Promise.prototype.then = function () { throw new Error('then') };
    JSON.stringify = () => '{"a":1,"b":1}';
    Function.prototype.call = Function.prototype.apply = () => 0;
    return await tools.echo({ __proto__: { x: 1 }, ['__proto__']: { isAdmin: 1 }, constructor: { prototype: { isAdmin: 1 } } });`;
  const { agent, audit } = codingAgent([code, 'return ({}).isAdmin ?? "clean"'], { tools: [echo] });
  await agent.run('Go');
  expect(audit.map(({ tool: name }) => name)).toContain('run_code');
  expect({}).not.toHaveProperty('isAdmin');
  expect(resultText(agent, 1)).toBe('clean');
  expectValidHistory(agent);
});

test.each([
  ['(async () => { for (;;) await null })(); return 1', '1'],
  ['globalThis.tools = null; delete globalThis.tools; return typeof tools', 'object'],
  ['Promise.prototype.then = () => { for (;;); }; return await tools.echo({ a: 1 })', '{"a":1}'],
  ['JSON.stringify = JSON.parse = () => "{}"; return await tools.echo({ a: 1 })', '{"a":1}'],
  ['globalThis.Promise = globalThis.Error = undefined; return await tools.echo({ a: 1 })', '{"a":1}'],
  [
    'const e = new Error(); Object.defineProperty(e, "stack", { get: () => "x".repeat(1e7) }); throw e',
    'The stack has 10000000',
  ],
  ['return await tools.__proto__({}).catch(({ message }) => message)', 'There is no tool "__proto__"'],
])('%s: the script deceives only itself', async (code, expected) => {
  expect(await run(code, { tools: [echo] })).toContain(expected);
});

test('arguments with __proto__ change no object of the program', async () => {
  const seen: unknown[] = [];
  const record = tool({
    name: 'record',
    description: 'Records',
    capability: 'read',
    run: (args) => void seen.push((args as { admin?: boolean }).admin, Object.hasOwn(args, '__proto__')),
  });
  await run(`await tools.record(JSON.parse('{"__proto__":{"admin":true}}'))`, { tools: [record] });
  expect(seen[0]).toBeUndefined();
  expect({}).not.toHaveProperty('admin');
});

test.each([
  'for (;;);',
  'while (true) { try { for (;;); } catch {} finally { continue } }',
  'Array.prototype.indexOf.call({ length: 2 ** 53 }, 1)', // native code that never looks at an interrupt
  '/(a+)+$/.test("a".repeat(50) + "b")',
  'const again = () => Promise.resolve().then(again); await again()',
  'const again = async () => { try { await null; throw 1 } catch { await again() } }; await again()',
  'return { toJSON() { for (;;); } }',
  'return { get x() { for (;;); } }',
  'throw { get message() { for (;;); }, toString() { for (;;); } }',
  'for (;;) try { tools.echo({}) } catch {}',
  'for (;;) console.log("x".repeat(1000))',
  '}); for (;;); (async () => {', // out of the function around it
  'class A { static { for (;;); } }',
  'return new Proxy({}, { ownKeys() { for (;;); } })',
  'await tools.echo(new Proxy({}, { get() { for (;;); } }))',
])('%s ends after its CPU time', async (code) => {
  expect(await run(code, { tools: [echo], bounds: CPU })).toContain(OVER_CPU);
});

test.each([
  'const all = []; for (;;) all.push("x".repeat(1_000) + all.length)',
  'const all = []; for (;;) all.push(new Array(1_000).fill(all.length))',
  'return new Array(1e9).fill(1).length',
  'new ArrayBuffer(2 ** 31)',
  'let text = "ab"; for (;;) text += text',
  'const all = []; for (;;) all.push(new Promise(() => {}))',
  'const map = new Map(); for (let i = 0; ; i++) map.set(i, { i })',
])('%s ends at its memory', async (code) => {
  const bounds = { maxMemoryBytes: 8 * 2 ** 20, maxCpuMs: 60_000 };
  const before = process.memoryUsage.rss();
  expect(await run(code, { bounds })).toMatch(
    /more than its 8388608 bytes of memory|RangeError: .*length|string too long/,
  );
  expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 2 ** 20);
});

test('a script that catches the end of its memory is still bounded', async () => {
  const code = `
    let all = [];
    for (;;) try { for (;;) all.push("x".repeat(10_000) + all.length) } catch { }`;
  const bounds = { maxMemoryBytes: 8 * 2 ** 20, maxCpuMs: 100 };
  expect(await run(code, { bounds })).toMatch(/CPU time|memory/);
});

test('recursion ends with an error of the script', async () => {
  const message = 'try { f() } catch (error) { return error.message }';
  expect(await run(`const f = () => f() + 1; ${message}`)).toMatch(/stack/);
  expect(await run(`const f = () => JSON.parse('['.repeat(200_000)); ${message}`)).toMatch(/stack/);
  expect(await run(`const f = () => [1].map(f); ${message}`)).toMatch(/stack/);
  expect(await run('const list = []; list[0] = list; return list')).toMatch(/^TypeError: circular/);
});

test('texts of 10 MB stop at the bounds of output, arguments, code and results', async () => {
  const large = tool({
    name: 'large',
    description: 'Returns 10 MB',
    capability: 'read',
    run: () => 'x'.repeat(10_000_000),
  });
  const big = '"x".repeat(10_000_000)';
  expect(await run(`return ${big}`)).toMatch(/The returned value as JSON has 10000002 characters; the limit is 65536/);
  expect(await run(`throw new Error(${big})`)).toMatch(/^RangeError: The error has 100000\d\d characters/);
  expect(await run(`console.log(${big}); return 1`)).toMatch(/The text for the console has 10000000 characters/);
  expect(await run(`await tools.echo({ a: ${big} })`, { tools: [echo] })).toMatch(/arguments has 1000000\d characters/);
  expect(await run('return (await tools.large()).length', { tools: [large] })).toMatch(
    /10000002 characters; a script takes at most 8388608/,
  );
  expect(await run(`return 1 // ${'x'.repeat(70_000)}`)).toMatch(/^The code may have at most 65536 bytes/);
  const files = tool({
    name: 'files',
    description: 'Returns a file',
    capability: 'read',
    run: () => ({ content: [{ type: 'image' as const, mimeType: 'image/png', data: 'A'.repeat(600_000) }] }),
  });
  const bounds = { maxMemoryBytes: 2 ** 20 };
  expect(await run('await tools.files(); await tools.files()', { tools: [files], bounds })).toMatch(
    /files of a script/,
  );
});

test('many lines of the console are cut, with their number', async () => {
  const text = await run('for (let i = 0; i < 1000; i++) console.log("line " + i); return "end"', {
    bounds: { maxOutputBytes: 500 },
  });
  expect(text).toMatch(/^line 0\nline 1\n/);
  expect(text).toMatch(/\[\d+ more lines did not fit\]/);
  expect(text.length).toBeLessThan(700);
});

test('arguments are JSON of bounded depth and size', async () => {
  const deep = 'let a = {}; for (let i = 0; i < 1_000; i++) a = { a }; await tools.echo(a)';
  expect(await run(deep, { tools: [echo] })).toMatch(/limit of 200 nested levels/);
  expect(await run('await tools.echo({ a: Array(150_000).fill(0) })', { tools: [echo] })).toMatch(
    /limit of 100000 values/,
  );
  expect(await run('await tools.echo({ a: 1n })', { tools: [echo] })).toMatch(/^TypeError: .*BigInt/);
});

test('a flood of calls ends at the number of calls', async () => {
  const code = `
    const calls = Array.from({ length: 60 }, (_, i) => tools.add({ a: i, b: 1 }).catch((error) => error.message));
    return (await Promise.all(calls)).slice(49, 51);`;
  const { agent, audit } = codingAgent([code], { tools: [add], bounds: { maxCalls: 50 } });
  await agent.run('Go');
  expect(audit.filter(({ tool: name }) => name === 'add')).toHaveLength(50);
  expect(resultText(agent)).toBe('[50,"A script makes at most 50 calls."]');
});

test('calls at the same time cannot fill the memory of the program with their arguments', async () => {
  const code = `
    const text = 'x'.repeat(300_000);
    const all = () => Promise.all(Array.from({ length: 10 }, () => tools.measure({ text }).catch((error) => error.message)));
    return [await all(), await all()];`;
  const measure = tool({
    name: 'measure',
    description: 'Returns the length of a text',
    capability: 'read',
    run: ({ text }) => String(text).length,
  });
  const rounds: unknown[][] = JSON.parse(
    await run(code, { tools: [measure], bounds: { maxMemoryBytes: 8 * 2 ** 20 } }),
  );
  const refused =
    'The arguments of calls in progress may have 1048576 characters together: wait for some of them first.';
  for (const round of rounds) expect(round).toEqual([...Array(3).fill(300_000), ...Array(7).fill(refused)]);
});

test('a script that waits for nothing ends at once', async () => {
  expect(await run('await new Promise(() => {})')).toBe('The script waits for a promise that nothing will settle.');
});

test('a script that only waits ends after its time on the clock', async () => {
  const slow = tool({
    name: 'slow',
    description: 'Takes a while',
    capability: 'read',
    run: (_, { tools }) => new Promise<string>((resolve) => setTimeout(resolve, 400, String(tools !== undefined))),
  });
  const text = await run('for (;;) await tools.slow()', { tools: [slow], bounds: { timeoutMs: 150 } });
  expect(text).toBe('The script took longer than 150 ms and was ended.');
});

test('calls after the end are not made', async () => {
  const made: unknown[] = [];
  const note = tool({ name: 'note', description: 'Notes', capability: 'read', run: ({ id }) => void made.push(id) });
  const code = `
    const later = async () => { for (let id = 0; id < 100; id++) await tools.note({ id }) };
    later();
    return 'ended';`;
  const { agent, audit } = codingAgent([code], { tools: [note] });
  await agent.run('Go');
  expect(resultText(agent)).toBe('ended');
  const atEnd = made.length;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(made.length).toBe(atEnd);
  expect(atEnd).toBeLessThan(100);
  expect(audit.at(-1)?.tool).toBe('run_code');
});

test('the program does its work while a script runs for ever', async () => {
  const turns: number[] = [];
  const timer = setInterval(() => turns.push(1), 5);
  await run('for (;;);', { bounds: { maxCpuMs: 300 } });
  clearInterval(timer);
  expect(turns.length).toBeGreaterThan(5);
});

test('handles that a script makes up give it no file', async () => {
  expect(await run('return { $file: 1, type: "image/png" }')).toBe('{"$file":1,"type":"image/png"}');
});
