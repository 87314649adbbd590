// Calls of tools in folders: arguments, results, the context of a tool, and tools that misbehave.
import { join } from 'node:path';
import { loadToolFolder, type ToolFolderOptions } from '@pocket-agent/tool-folder';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { fixtures, manifestOf, recordLog, writeFiles } from './files.ts';

function open(path: string, options: ToolFolderOptions = {}) {
  const folder = loadToolFolder(path, { logger: silent, strict: true, ...options });
  onTestFinished(() => folder.close());
  return folder;
}

const fixture = (name: string, options?: ToolFolderOptions) => open(join(fixtures, name), options);

test("nested defaults are filled in without changing the caller's arguments", async () => {
  const places = fixture('Places');
  const args = { name: 'Rome', via: [{ x: 1 }, {}], pair: ['a', { y: 2 }] };
  const before = structuredClone(args);
  const { structuredContent } = await places.callTool('find', args);
  expect(structuredContent).toEqual({
    name: 'Rome',
    via: [
      { x: 1, y: 0 },
      { x: 0, y: 0 },
    ],
    pair: ['a', { x: 0, y: 2 }],
    from: { x: 0, y: 0 },
  });
  expect(args).toEqual(before);
  expect((await places.callTool('find_old', {})).structuredContent).toEqual({ size: 'small' });
});

test.each([
  ['find', {}, "must have required property 'name'"],
  ['find', { name: 'R' }, 'name must NOT have fewer than 2 characters'],
  ['find', { name: 'Rome', when: 'soon' }, 'when must match format "date"'],
  ['find', { name: 'Rome', from: { x: 'far' } }, 'from/x must be number'],
  ['find', { name: 'Rome', via: [{}, { y: null }] }, 'via/1/y must be number'],
  ['find', { name: 'Rome', pair: ['a', {}, 3] }, 'pair must NOT have more than 2 items'],
  ['find', { name: 'Rome', colour: 'red' }, 'must NOT have unevaluated properties'],
  ['find_old', { size: 'medium' }, 'size must be equal to one of the allowed values'],
  ['find_old', { pair: ['a', 'b'] }, 'pair/1 must be number'],
])('%s refuses %j', async (name, args, problem) => {
  await expect(fixture('Places').callTool(name, args)).rejects.toMatchObject({
    code: 'TOOL_ARGUMENTS_INVALID',
    message: `Bad arguments for "${name}": ${problem}`,
  });
});

test('recursive schemas and defaults are handled', async () => {
  const child = "{ $ref: '#', default: {} }";
  const root = writeFiles({
    'A/manifest.yaml': `${manifestOf('a')}    parameters: { allOf: [{ $ref: '#/$defs/it' }, { $ref: '#/$defs/it' }],
      properties: { left: ${child}, right: ${child} }, $defs: { it: { properties: { word: { default: hi } } } } }\n`,
    'A/tool.ts': 'export class Tools { async a(args: object) { return args; } }',
  });
  const { structuredContent } = await open(root).callTool('a', {});
  expect(structuredContent).toEqual({
    word: 'hi',
    left: { word: 'hi', right: { word: 'hi' } },
    right: { word: 'hi', left: { word: 'hi' } },
  });
});

test('a tool may change its arguments, which are a copy', async () => {
  const root = writeFiles({
    'A/manifest.yaml': `${manifestOf('a')}    parameters: { properties: { list: { type: array } } }\n`,
    'A/tool.ts': 'export class Tools { async a({ list }) { list[0].name = "changed"; return list; } }',
  });
  const args = { list: [{ name: 'mine' }] };
  expect((await open(root).callTool('a', args)).content).toEqual([text('[{"name":"changed"}]')]);
  expect(args).toEqual({ list: [{ name: 'mine' }] });
});

const image = { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' };
const file = { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'hello' } };
const text = (value: string) => ({ type: 'text', text: value });

test.each([
  ['text', { content: [text('hello')] }],
  ['number', { content: [text('42')] }],
  ['boolean', { content: [text('false')] }],
  ['nothing', { content: [text('No result returned')] }],
  ['null', { content: [text('No result returned')] }],
  [
    'object',
    {
      content: [text('{"a":1,"when":"1970-01-01T00:00:00.000Z"}')],
      structuredContent: { a: 1, when: '1970-01-01T00:00:00.000Z' },
    },
  ],
  ['list', { content: [text('[1,"two"]')] }],
  ['image', { content: [image] }],
  ['blocks', { content: [image, file] }],
  ['result', { content: [file], structuredContent: { a: 1 }, isError: false }],
  [
    'own content',
    {
      content: [text('{"content":[{"type":"paragraph"}]}')],
      structuredContent: { content: [{ type: 'paragraph' }] },
    },
  ],
  [
    'content among other data',
    {
      content: [text('{"title":"Empty page","content":[]}')],
      structuredContent: { title: 'Empty page', content: [] },
    },
  ],
])('a tool may return %s', async (kind, result) => {
  expect(await fixture('Kinds').callTool('give', { kind })).toEqual(result);
});

test.each([
  ['function', 'a function'],
  ['function inside', 'a function at "b"'],
  ['BigInt', 'a BigInt'],
  ['symbol', 'a symbol'],
  ['cycle', 'an object that contains itself'],
  ['map', 'a Map at "found"'],
])('returning a %s is an error, because it is not JSON', async (kind, what) => {
  await expect(fixture('Kinds').callTool('give', { kind })).rejects.toMatchObject({
    code: 'TOOL_FAILED',
    message: `Tool "give" returned a value that is not JSON: ${what}. Return a string, number, object, list or MCP content.`,
  });
});

test.each(['big', 'big text of control characters', 'big object', 'big image'])(
  'a %s of many megabytes is cut, with a note',
  async (kind) => {
    const result = await fixture('Kinds').callTool('give', { kind });
    const whole = JSON.stringify(result);
    expect(whole.length).toBeLessThan(4_001_000);
    expect(whole).toMatch(/\[truncated: \d+ bytes of (text|image), the limit is 4000000 bytes\]/);
  },
);

test('the context has the folder, variables, call and additions of the host', async () => {
  const root = writeFiles({
    'A/manifest.yaml': `${manifestOf('tell')}env: [A_KEY, { name: B_KEY, optional: true }]\n`,
    'A/tool.ts': `export class Tools {
      constructor(context) { this.context = context; context.log('info', 'made for', context.folder.humanName); }
      async tool_tell(_args, call) {
        const { context } = this;
        const same = ['folder', 'env', 'signal', 'meta', 'toolCallId', 'discord'].every(
          (key) => key in context && JSON.stringify(context[key]) === JSON.stringify(call[key]));
        return { same, env: call.env, meta: call.meta, id: call.toolCallId, discord: call.discord, folder: call.folder.name };
      }
    }`,
  });
  const { logger, lines } = recordLog();
  const folder = open(root, {
    logger,
    env: { A_KEY: 'a', C_KEY: 'c' },
    context: ({ toolName, meta }) => ({
      discord: { toolName, meta },
      env: 'not yours',
    }),
  });
  const { structuredContent } = await folder.callTool('tell', {}, { toolCallId: '7', meta: { agent: 'Tester' } });
  expect(structuredContent).toEqual({
    same: true,
    env: { A_KEY: 'a' },
    meta: { agent: 'Tester' },
    id: '7',
    discord: { toolName: 'tell', meta: { agent: 'Tester' } },
    folder: 'A',
  });
  expect(lines).toEqual(['info: [A] made for Some tools']);
});

test('a tool and the function that makes its context receive caller and metadata of the run', async () => {
  const root = writeFiles({
    'A/manifest.yaml': manifestOf('tell'),
    'A/tool.ts': `export class Tools {
      constructor(context) { this.context = context; }
      async tool_tell(_args, { caller, metadata, host }) {
        return { caller, metadata, host, same: this.context.caller === caller };
      }
    }`,
  });
  const folder = open(root, { context: ({ caller, metadata }) => ({ host: `${caller} of ${metadata?.team}` }) });
  const agent = new PocketAgent({
    llmModel: new ScriptedModel([{ toolCalls: [{ name: 'tell' }] }, 'Done.']),
    tools: [folder],
  });
  const results: unknown[] = [];
  await agent.run('Tell.', {
    caller: 'ann',
    metadata: { team: 'sales' },
    onEvent: ({ type, data }) => void (type === 'tool_result' && results.push(data.extra.structuredContent)),
  });
  expect(results).toEqual([{ caller: 'ann', metadata: { team: 'sales' }, host: 'ann of sales', same: true }]);
});

test('a hundred concurrent calls of one instance have separate progress, log and signal', async () => {
  const trouble = fixture('Trouble');
  const calls = Array.from({ length: 100 }, async (_, index) => {
    const heard: unknown[] = [];
    const result = await trouble.callTool(
      'work',
      { steps: (index % 5) + 1, ms: 1 },
      { progress: ({ message }) => heard.push(message), log: (level, data) => heard.push(level, data) },
    );
    return { index, heard, result };
  });
  for (const { index, heard, result } of await Promise.all(calls)) {
    const steps = (index % 5) + 1;
    const messages = Array.from({ length: steps }, (_, step) => `step ${step + 1}`);
    expect(heard).toEqual([...messages, 'warn', `worked {"steps":${steps}}`]);
    expect(result.content).toEqual([text(`${steps} steps`)]);
  }
});

test('an error of a tool affects only its own call', async () => {
  const trouble = fixture('Trouble');
  await expect(trouble.callTool('fail', {})).rejects.toThrow('the disk is full');
  expect((await trouble.callTool('work', {})).content).toEqual([text('3 steps')]);
});

test('aborting a call ends a tool that never returns and aborts its signal', async () => {
  const trouble = fixture('Trouble');
  const controller = new AbortController();
  const hanging = trouble.callTool(
    'hang',
    {},
    { signal: controller.signal, progress: () => controller.abort(new Error('enough')) },
  );
  await expect(hanging).rejects.toMatchObject({ code: 'ABORTED', cause: { message: 'enough' } });
  const polite = trouble.callTool('hang_politely', {}, { signal: AbortSignal.timeout(5) });
  await expect(polite).rejects.toMatchObject({ code: 'ABORTED', cause: { name: 'TimeoutError' } });
  await expect(trouble.callTool('hang', {}, { signal: AbortSignal.abort(new Error('before')) })).rejects.toMatchObject({
    cause: { message: 'before' },
  });
  expect((await trouble.callTool('ended', {})).content).toEqual([text('1')]);
});

test('a call times out unless it reports progress', async () => {
  const trouble = fixture('Trouble', { timeoutMs: 2_000 });
  const hanging = expect(trouble.callTool('hang', {})).rejects.toMatchObject({ code: 'TOOL_TIMEOUT' });
  expect((await trouble.callTool('work', { steps: 24, ms: 100 })).content).toEqual([text('24 steps')]);
  await hanging;
  const capped = fixture('Trouble', { maxTimeoutMs: 50 });
  await expect(capped.callTool('work', { steps: 1000, ms: 5 })).rejects.toThrow('ran longer than 50 ms');
});

test('closing aborts running calls, then closes the tools', async () => {
  const root = writeFiles({
    'A/manifest.yaml': manifestOf('hang'),
    'A/tool.ts': `export class Tools {
      constructor({ log, signal }) { this.log = log; signal.addEventListener('abort', () => log('info', 'unloaded')); }
      async hang() { return new Promise(() => {}); }
      async close() { this.log('info', 'closed'); throw new Error('badly'); }
    }`,
    'B/manifest.yaml': manifestOf('close'),
    'B/tool.ts': `export class Tools {
      constructor({ log }) { this.log = log; }
      async close() { this.log('info', 'called'); return 'closed'; }
      async [Symbol.asyncDispose]() { this.log('info', 'disposed'); }
    }`,
  });
  const { logger, lines } = recordLog();
  const folder = open(root, { logger });
  expect((await folder.callTool('close', {})).content).toEqual([text('closed')]);
  const hanging = folder.callTool('hang', {});
  const ended = expect(hanging).rejects.toThrow('Tool folder "A" was unloaded.');
  await folder.close();
  await ended;
  await folder.close();
  expect(lines.sort()).toEqual([
    'info: [A] closed',
    'info: [A] unloaded',
    'info: [B] called',
    'info: [B] disposed',
    'warn: Tool folder "A" did not close: badly',
  ]);
  await expect(folder.callTool('close', {})).rejects.toMatchObject({ code: 'AGENT_CLOSED' });
  await expect(folder.listTools()).rejects.toMatchObject({ code: 'AGENT_CLOSED' });
});

test('names of Object.prototype are unknown tools', async () => {
  const kinds = fixture('Kinds');
  for (const name of ['constructor', '__proto__', 'toString', 'tool_give', '']) {
    await expect(kinds.callTool(name, {})).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
  }
});
