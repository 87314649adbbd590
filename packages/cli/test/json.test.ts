import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FakeAnswer } from '../../pocket-agent/test/fixtures/providers/fake-dialect.ts';
import { FakeProviders } from '../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { CommandFolder, SCRIPTED, scriptedBy, started, stdioServer } from './fixtures/command.ts';

type Script = readonly (string | FakeAnswer)[];

const folder = new CommandFolder();
let providers: FakeProviders;
let servers: string;
beforeAll(async () => {
  providers = await FakeProviders.start();
  servers = await folder.servers('one.json', { one: { ...started(stdioServer), capabilities: { progress: 'read' } } });
});
afterAll(() => providers.close());

async function events(script: Script, ...args: string[]) {
  providers.script(...script);
  const all = [...SCRIPTED, '--mcp', servers, '--json', ...args];
  const { code, stdout, stderr } = await folder.command(all, { env: scriptedBy(providers) });
  providers.reset();
  const lines: { type: string; path?: string[]; time?: number; runId?: string; data: object; exitCode?: number }[] =
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { code, lines, stdout, stderr };
}

test('--json writes one line per event and the answer last', async () => {
  const evil = '\u001b[2J\u2028';
  const { code, lines, stdout } = await events(
    [
      { text: 'Looking.', toolCalls: [{ name: 'progress', arguments: { everyMs: 0, count: 2 }, id: 'call-1' }] },
      `Done ${evil}.`,
    ],
    'Go',
  );
  expect(code).toBe(0);
  expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Zl}]/u);
  expect(lines[0]).toEqual({ type: 'run_started', data: { format: 1, model: 'openai-compatible/x' } });
  const shown = lines.filter(({ type }) => type !== 'audit' && type !== 'server_status').slice(1, -1);
  expect(new Set(shown.map(({ runId }) => runId)).size).toBe(1);
  expect(shown.every(({ time, runId }) => typeof time === 'number' && typeof runId === 'string')).toBe(true);
  const withoutTime = shown.map(({ time: _time, runId: _runId, ...line }) => line);
  const usage = {
    inputTokens: 12,
    cachedInputTokens: 0,
    outputTokens: 7,
    reasoningTokens: 0,
    modelCalls: 1,
    toolCalls: 0,
  };
  const [toolCallId, toolName, path] = ['call-1', 'progress', ['Pocket']];
  const text = withoutTime.filter(({ type }) => type === 'text_delta').map(({ data }) => Reflect.get(data, 'delta'));
  expect(text.join('')).toBe(`Looking.Done ${evil}.`);
  expect(withoutTime.filter(({ type }) => type !== 'text_delta')).toEqual([
    { type: 'step_started', path, data: { step: 1 } },
    {
      type: 'tool_call',
      path,
      data: { id: 'call-1', name: 'progress', toolCallId, toolName, arguments: { everyMs: 0, count: 2 } },
    },
    { type: 'tool_progress', path, data: { toolCallId, toolName, progress: 1, total: 2, message: 'part 1' } },
    { type: 'tool_progress', path, data: { toolCallId, toolName, progress: 2, total: 2, message: 'part 2' } },
    {
      type: 'tool_result',
      path,
      data: {
        toolCallId,
        toolCallName: toolName,
        toolName,
        toolResultContent: [{ type: 'text', text: 'all parts done' }],
        isError: false,
      },
    },
    { type: 'step_finished', path, data: { step: 1, finishReason: 'tool-calls', usage } },
    { type: 'step_started', path, data: { step: 2 } },
    { type: 'step_finished', path, data: { step: 2, finishReason: 'stop', usage } },
  ]);
  expect(lines.at(-1)).toEqual({
    type: 'answer',
    data: {
      text: `Done ${evil}.`,
      usage: { ...usage, inputTokens: 24, outputTokens: 14, modelCalls: 2, toolCalls: 1 },
    },
    exitCode: 0,
  });
});

test('--json writes a failure as the last line; stderr has it too', async () => {
  const failed = await events([{ status: 401, message: 'Wrong key.' }], 'Go');
  expect(failed.code).toBe(2);
  expect(failed.lines.at(-1)).toMatchObject({ type: 'error', data: { code: 'MODEL_FAILED' }, exitCode: 2 });
  expect(failed.stderr).toContain('Wrong key.');
  const silent = await events([]);
  expect(silent.lines).toMatchObject([{ type: 'error', data: { message: 'The prompt is missing.' }, exitCode: 2 }]);
  const mistaken = await events([], '--profile', 'king', 'Go');
  expect(mistaken.lines).toEqual([
    {
      type: 'error',
      data: { code: 'CONFIG_INVALID', message: expect.stringContaining('no profile "king"') },
      exitCode: 2,
    },
  ]);
});
