// The command `pocket-agent eval`.
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../../../pocket-agent/test/fixtures/providers/fake-dialect.ts';
import { FakeProviders } from '../../../pocket-agent/test/fixtures/providers/fake-providers.ts';
import { limitChecks } from '../../../schema/test/check-limit.ts';
import { CommandFolder, SCRIPTED, scriptedBy, started, stdioServer, toolsFolder } from '../fixtures/command.ts';

const folder = new CommandFolder();
let providers: FakeProviders;
beforeAll(async () => {
  providers = await FakeProviders.start();
});
afterEach(() => providers.reset());
afterAll(() => providers.close());

let files = 0;

/** One run at a time, so that runs follow the order of the script. The tool folder saves the process of a server. */
async function evaluate(yaml: string, script: readonly (string | FakeAnswer)[], ...args: string[]) {
  const file = await folder.file(`eval-${++files}.yaml`, yaml);
  providers.script(...script);
  const options = ['--parallel', '1', '--tools', toolsFolder, ...(args.includes('-m') ? [] : SCRIPTED), ...args];
  const outcome = await folder.command(['eval', ...options, file], { env: scriptedBy(providers) });
  return { ...outcome, file };
}

const count: FakeAnswer = { toolCalls: [{ name: 'count', arguments: { text: 'Paris' } }] };

describe('checks', () => {
  const yaml = (checks: string) => `cases:\n  - name: one\n    prompt: Go\n    checks: ${checks}\n`;
  const schema = '{ schema: { type: object, required: [city], properties: { city: { type: string } } } }';

  test.each([
    ['contains', '{ contains: Paris }', ['It is Paris.']],
    ['contains, a list', '{ contains: [It, Paris] }', ['It is Paris.']],
    ['matches', '{ matches: "^It .*[Pp]aris" }', ['It is Paris.']],
    ['schema', schema, ['{ "city": "Paris" }']],
    ['schema, in a code block', schema, ['```json\n{ "city": "Paris" }\n```']],
    ['tools', '{ tools: [count] }', [count, '5']],
    ['notTools', '{ notTools: [greet] }', [count, '5']],
    ['maxSteps', '{ maxSteps: 2 }', [count, '5']],
  ])('%s passes', async (_title, checks, script) => {
    const { code, stdout, stderr } = await evaluate(yaml(checks), script);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^one +1\/1 passed/m);
    expect(stdout).not.toContain('FAILED');
  });

  test.each([
    ['contains', '{ contains: [It, Rome] }', ['It is Paris.'], 'The answer does not contain "Rome".'],
    ['matches', '{ matches: "^Paris" }', ['It is Paris.'], 'The answer does not match /^Paris/.'],
    ['schema', schema, ['{ "city": 7 }'], /The answer does not fit the schema: .*city.*string/],
    ['schema of prose', schema, ['Paris'], 'The answer is not JSON.'],
    ['tools', '{ tools: [count] }', ['5'], 'The tool count was not called; called: none.'],
    [
      'tools in order',
      '{ tools: [greet, count] }',
      [count, '5'],
      'The tool greet was not called in the order greet, count; called: count.',
    ],
    [
      'tools, one of them twice',
      '{ tools: [count, count] }',
      [count, '5'],
      'The tool count was not called in the order count, count; called: count.',
    ],
    ['notTools', '{ notTools: [count] }', [count, '5'], 'The tool count was called.'],
    ['maxSteps', '{ maxSteps: 1 }', [count], /The run failed: .*1/],
    ['maxCostUsd', '{ maxCostUsd: 0.01 }', [], /The run failed: .*price/i],
  ])('%s fails with a reason', async (_title, checks, script, reason) => {
    const { code, stdout } = await evaluate(yaml(checks), script);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^one +0\/1 passed/m);
    expect(stdout).toMatch(/^FAILED one · openai-compatible\/x · run 1$/m);
    if (typeof reason === 'string') expect(stdout).toContain(`\n  ${reason}\n`);
    else expect(stdout).toMatch(reason);
  });

  const graded = yaml('{ graded: { question: "Is it a city?", model: openai-compatible/grader } }');
  const verdict = (pass: boolean): FakeAnswer => ({
    toolCalls: [{ name: 'final_answer', arguments: { pass, reason: 'Rome is a city.' } }],
  });

  test('a model grades the answer', async () => {
    const passed = await evaluate(graded, ['Rome', verdict(true)]);
    expect(passed.code).toBe(0);
    expect(providers.requests.map(({ body }) => body.at('model').text)).toEqual(['x', 'grader']);
    expect(providers.lastBody.toString()).toMatch(/Is it a city\?.*Rome/);
    const failed = await evaluate(graded, ['Rome', verdict(false)]);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain('Graded as failed: Rome is a city.');
  });
});

test('several models are compared side by side, with repeats', async () => {
  const yaml = `repeats: 2
cases:
  - { name: capital, prompt: Capital of France?, checks: { contains: Paris } }
  - { name: other, prompt: Capital of Italy?, repeats: 1, checks: { contains: Rome } }
`;
  const script = ['Paris', 'Paris', 'Paris', 'Lyon', 'Rome', 'Rome'];
  const { code, stdout } = await evaluate(yaml, script, ...['-m', 'openai-compatible/a', '-m', 'openai-compatible/b']);
  expect(code).toBe(1);
  const [header = '', capital = '', other = '', all = ''] = stdout.split('\n');
  expect(header).toMatch(/^case +openai-compatible\/a +openai-compatible\/b$/);
  expect(capital).toMatch(/^capital +2\/2 passed, 1\.0 steps, .* {2}1\/2 passed/);
  expect(other).toMatch(/^other +1\/1 passed.* {2}1\/1 passed/);
  expect(all).toMatch(/^all +3\/3 passed.* {2}2\/3 passed/);
  expect(stdout).toContain('FAILED capital · openai-compatible/b · run 2\n');
  expect(stdout).toContain('  Answer: Lyon\n');
  expect(providers.requests.map(({ body }) => body.at('model').text)).toEqual(['a', 'a', 'b', 'b', 'a', 'b']);
});

test('system prompts and agent files are compared side by side', async () => {
  const yaml = 'cases:\n  - { name: greeting, prompt: Hi, checks: { contains: Hello } }\n';
  const short = await folder.file('short.txt', 'Be short.');
  const polite = await folder.file('polite.txt', 'Be polite.');
  const byPrompt = await evaluate(yaml, ['Hello', 'Hello'], '--system-prompt', short, '--system-prompt', polite);
  expect(byPrompt.stdout).toMatch(/^case +short +polite\n/);
  expect(providers.requests.map(({ body }) => /Be \w+\./.exec(body.toString())?.[0])).toEqual([
    'Be short.',
    'Be polite.',
  ]);
  const one = await folder.file('one.json', { systemPrompt: 'One.' });
  const two = await folder.file('two.json', { systemPrompt: 'Two.' });
  const byAgent = await evaluate(yaml, ['Hello', 'Bye'], '--agent', one, '--agent', two);
  expect(byAgent.code).toBe(1);
  expect(byAgent.stdout).toMatch(/^case +one +two\ngreeting +1\/1 passed.* 0\/1 passed/);
});

test('the agent of the file, files and the profile of a case are used', async () => {
  await mkdir(join(folder.path, 'inner'), { recursive: true });
  await folder.file('inner/agent.json', { systemPrompt: 'Of the file.', tools: [toolsFolder] });
  await folder.file('inner/notes.txt', 'The notes say seven.');
  const yaml = `agent: ./agent.json
model: openai-compatible/x
cases:
  - prompt: What do the notes say?
    files: [notes.txt]
    profile: reader
    checks: { contains: seven }
`;
  const file = await folder.file('inner/eval.yaml', yaml);
  providers.script('seven');
  const { code } = await folder.command(['eval', file], { env: scriptedBy(providers) });
  expect(code).toBe(0);
  const body = providers.lastBody.toString();
  expect(body).toContain('Of the file.');
  expect(body).toContain('The notes say seven.');
});

test('calls that need approval are refused, unless --yes is given', async () => {
  const servers = await folder.servers('approval.json', { one: { ...started(stdioServer) } });
  const yaml = 'cases:\n  - { name: change, prompt: Go, checks: { contains: done } }\n';
  const call: FakeAnswer = { toolCalls: [{ name: 'progress', arguments: { everyMs: 0, count: 1 } }] };
  await evaluate(yaml, [call, 'done'], '--mcp', servers);
  expect(providers.lastBody.toString()).not.toContain('all parts done');
  await evaluate(yaml, [call, 'done'], '--mcp', servers, '--yes');
  expect(providers.lastBody.toString()).toContain('all parts done');
});

test('--junit refuses a file in a folder that cannot be made', async () => {
  const { code, stderr } = await evaluate(repeated(1), ['x'], '--junit', '/proc/pocket/reports/eval.xml');
  expect(code).toBe(2);
  expect(stderr).toContain(
    "Cannot write /proc/pocket/reports/eval.xml: ENOENT: no such file or directory, mkdir '/proc",
  );
});

test('--junit writes a report, and --json a line for each run', async () => {
  const yaml = `cases:
  - { name: 'a <b> & "c"', prompt: Go, checks: { contains: yes } }
  - { name: second, prompt: Go, checks: { contains: yes } }
`;
  const report = join(folder.path, 'reports', 'eval.xml');
  const { code, stdout, file } = await evaluate(yaml, ['no\u0000 ]]>', 'yes'], '--junit', report, '--json');
  expect(code).toBe(1);
  const xml = await readFile(report, 'utf8');
  const time = /time="\d+\.\d{3}"/;
  expect(xml.replaceAll(new RegExp(time, 'g'), 'time=""')).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="${file}" tests="2" failures="1" errors="0" time="">
  <testsuite name="openai-compatible/x" tests="2" failures="1" errors="0" time="">
    <testcase classname="openai-compatible/x" name="a &lt;b&gt; &amp; &quot;c&quot; · run 1" time="">
      <failure message="The answer does not contain &quot;yes&quot;.">The answer does not contain &quot;yes&quot;.&#10;&#10;Answer:&#10;no\ufffd ]]&gt;</failure>
    </testcase>
    <testcase classname="openai-compatible/x" name="second · run 1" time=""/>
  </testsuite>
</testsuites>
`);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { case: 'a <b> & "c"', variant: 'openai-compatible/x', repeat: 1, passed: false, toolCalls: [] },
    { case: 'second', passed: true, failures: [], answer: 'yes', usage: { modelCalls: 1 } },
  ]);
});

test('a run that fails does not end the others; --case and --repeats choose runs', async () => {
  const yaml = `cases:
  - { name: one, prompt: Go, checks: { contains: yes } }
  - { name: two, prompt: Go, checks: { contains: yes } }
`;
  const broken: FakeAnswer = { status: 422, message: 'I cannot read this.' };
  const both = await evaluate(yaml, [broken, 'yes']);
  expect(both.stdout).toMatch(/^one +0\/1 passed.*\ntwo +1\/1 passed/m);
  expect(both.stdout).toMatch(/The run failed: .*I cannot read this/);
  const chosen = await evaluate(yaml, ['yes', 'yes', 'yes'], '--case', 'two', '--repeats', '3');
  expect(chosen.stdout).toMatch(/^case .*\ntwo +3\/3 passed/);
});

test('without --parallel, all runs of a case are made', async () => {
  const yaml = 'repeats: 6\ncases:\n  - { name: one, prompt: Say hello, checks: { matches: "." } }\n';
  const file = await folder.file('parallel.yaml', yaml);
  const { code, stdout } = await folder.command(['eval', '-m', 'demo', '--tools', toolsFolder, '--json', file]);
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(6);
});

test('a refused key or an unknown model ends the evaluation with exit code 2', async () => {
  const yaml = 'repeats: 5\ncases:\n  - { name: one, prompt: Go, checks: { contains: yes } }\n';
  const refused = await evaluate(yaml, [{ status: 401, message: 'Wrong key' }]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('Wrong key');
  expect(providers.requests).toHaveLength(1);
  const unknown = await evaluate(yaml, [], '-m', 'opnai/gpt-5');
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain('Did you mean "openai/gpt-5"?');
});

const repeated = (repeats: number) =>
  `repeats: ${repeats}\ncases:\n  - { name: one, prompt: Go, checks: { contains: yes } }\n`;

test('an evaluation that ends early shows the runs that were completed, and writes no report', async () => {
  const report = join(folder.path, 'early.xml');
  const script = ['yes', { status: 401, message: 'Wrong key' }];
  const { code, stdout, stderr } = await evaluate(repeated(5), script, '--junit', report);
  expect(code).toBe(2);
  expect(stdout).toMatch(/^one +1\/1 passed/m);
  expect(stderr).toMatch(/^1 of 5 runs were completed\.\n.*Wrong key/s);
  expect(existsSync(report)).toBe(false);
});

test('a pattern that takes too long fails its case and does not block the others', async () => {
  limitChecks(300);
  const endless = 'a'.repeat(60);
  const yaml = `cases:
  - { name: slow, prompt: Go, checks: { matches: '^(a+)+$' } }
  - { name: quick, prompt: Go, checks: { matches: 'a' } }
`;
  const { code, stdout } = await evaluate(yaml, [`${endless}!`, `${endless}!`]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/Whether the answer matches \/\^\(a\+\)\+\$\/ could not be checked: it took longer/);
  expect(stdout).toMatch(/^quick +1\/1 passed/m);
});

test('the grader uses the model settings of the agent file', async () => {
  const { OPENAI_COMPATIBLE_BASE_URL: baseUrl = '', OPENAI_COMPATIBLE_API_KEY: apiKey } = scriptedBy(providers);
  await folder.file('settings.json', { llmModel: 'openai-compatible/x', modelSettings: { baseUrl, apiKey } });
  const yaml = `agent: settings.json
cases:
  - { name: one, prompt: Go, checks: { graded: { question: Is it a city? } } }
`;
  const file = await folder.file('grader-settings.yaml', yaml);
  providers.script('Rome', { toolCalls: [{ name: 'final_answer', arguments: { pass: true, reason: 'It is.' } }] });
  const { code, stderr } = await folder.command(['eval', file]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

describe('problems of the file are reported with line and column', () => {
  test.each([
    ['cases:\n  - prompt: Go\n    check: { contains: x }\n', [':3:5: found the unknown key "check"', '"checks"']],
    ['cases:\n  - prompt: Go\n', ['found no "checks"']],
    ['cases:\n  - prompt: Go\n    checks: {}\n', [':3:13: found no checks; expected at least one check']],
    ['cases:\n  - prompt: Go\n    checks: { maxSteps: many }\n', [':3:25: found "many"; expected a whole number']],
    [
      'cases:\n  - prompt: Go\n    checks: { matches: "(" }\n',
      [':3:24: found "(" (Invalid regular expression: /(/u: ', '); expected a regular expression'],
    ],
    ['cases:\n  - prompt: Go\n    checks: { schema: { type: 7 } }\n', [':3:23: found an invalid schema']],
    ['cases:\n  - prompt: Go\n    files: [absent.pdf]\n    checks: { contains: x }\n', [':3:13: found "absent.pdf"']],
    [
      'cases:\n  - { prompt: Go, checks: { contains: x } }\n  - { prompt: Go, checks: { contains: y } }\n',
      [':3:15: found a second case "Go"'],
    ],
    [repeated(1_001), [':1:10: found 1001; expected a whole number of runs for each case, 1 to 1000']],
    ['cases: [\n', ['found a YAML error (', '); expected valid YAML']],
    ['', ['an empty file; expected a mapping with cases']],
  ])('%j', async (yaml, texts) => {
    const { code, stderr, file } = await evaluate(yaml, []);
    expect(code).toBe(2);
    expect(stderr).toContain(`pocket-agent: ${file}:`);
    for (const text of texts) expect(stderr).toContain(text);
  });

  test('no file, a missing file, an unknown case', async () => {
    expect((await folder.command(['eval'])).stderr).toContain('Name one YAML file with cases');
    expect((await folder.command(['eval', 'absent.yaml'])).stderr).toContain('There is no file absent.yaml.');
    const yaml = 'cases:\n  - { name: one, prompt: Go, checks: { contains: yes } }\n';
    expect((await evaluate(yaml, [], '--case', 'two')).stderr).toContain('There is no case "two". Available: "one".');
  });
});
