// Problems of tool folders: their position, what was found and what is expected.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadToolFolder, problemText } from '@pocket-agent/tool-folder';
import { expect, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { manifestJsonSchema } from '../src/manifest/manifest-schema.ts';
import { manifestOf, recordLog, writeFiles } from './files.ts';

const CODE = 'export class Tools { async tool_a() {} }';
const HEAD = 'tool_human_name: Some tools\ntool_list:\n  - name: a\n    description: Does a\n';

interface Fault {
  fault: string;
  manifest?: string;
  code?: string;
  loadTimeoutMs?: number;
  /** Problems as `file:line:column: …` with only the name of the file. */
  problems: string[];
}

const keys = 'tool_human_name, tool_name, tool_list, exposure, env, mcp_servers';
const aTool = 'a list of tools, each with name, description and parameters';

const faults: Fault[] = [
  {
    fault: 'a manifest of more than 250 kB',
    manifest: `#${'x'.repeat(250_000)}\n${HEAD}`,
    problems: ['manifest.yaml:1:1: found 250077 bytes; expected at most 250000'],
  },
  {
    fault: 'invalid YAML',
    manifest: 'tool_human_name: "open\ntool_list: []\n',
    problems: ['manifest.yaml:3:1: found a YAML error (Missing closing "quote); expected valid YAML'],
  },
  {
    fault: 'an empty file',
    manifest: '',
    problems: ['manifest.yaml:1:1: found an empty file; expected a mapping with tool_human_name and tool_list'],
  },
  {
    fault: 'only a comment',
    manifest: '# later\n',
    problems: ['manifest.yaml:1:1: found an empty file; expected a mapping with tool_human_name and tool_list'],
  },
  {
    fault: 'several documents',
    manifest: `${HEAD}---\na: 1\n`,
    problems: ['manifest.yaml:5:1: found a second YAML document; expected one document; remove the ---'],
  },
  {
    fault: 'a list instead of a mapping',
    manifest: '- a\n',
    problems: ['manifest.yaml:1:1: found a list; expected a mapping with tool_human_name and tool_list'],
  },
  {
    fault: 'an unknown key that looks like a known one',
    manifest: `toolhumanname: x\n${HEAD}`,
    problems: [
      'manifest.yaml:1:1: found the unknown key "toolhumanname"; expected "tool_human_name" (did you mean that?)',
    ],
  },
  {
    fault: 'an unknown key unlike any known one',
    manifest: `${HEAD}colour: red\n`,
    problems: [`manifest.yaml:5:1: found the unknown key "colour"; expected one of ${keys}`],
  },
  {
    fault: 'an unknown key of a tool',
    manifest: `${HEAD}    params: {}\n`,
    problems: [
      'manifest.yaml:5:5: found the unknown key "params"; expected one of name, description, parameters, annotations, capability',
    ],
  },
  {
    fault: 'a duplicate key',
    manifest: `${HEAD}tool_human_name: again\n`,
    problems: ['manifest.yaml:5:1: found a YAML error (Map keys must be unique); expected valid YAML'],
  },
  {
    fault: 'no name for users',
    manifest: HEAD.replace(/^.*\n/, ''),
    problems: [
      'manifest.yaml:1:1: found no "tool_human_name"; expected a name for users, as tool_human_name (or tool_name)',
    ],
  },
  {
    fault: 'a name that is a number',
    manifest: HEAD.replace('Some tools', '42'),
    problems: ['manifest.yaml:1:18: found 42; expected a name for users, for example "Multiplication Tool"'],
  },
  {
    fault: 'no tools',
    manifest: 'tool_human_name: x\n',
    code: 'export class Tools {}',
    problems: ['manifest.yaml:1:1: found no tools; expected at least one tool in tool_list, or mcp_servers'],
  },
  {
    fault: 'tools that are a mapping',
    manifest: 'tool_human_name: x\ntool_list:\n  a: 1\n',
    problems: [`manifest.yaml:3:3: found a mapping; expected ${aTool}`],
  },
  {
    fault: 'a tool without a description',
    manifest: 'tool_human_name: x\ntool_list:\n  - name: a\n',
    problems: [
      'manifest.yaml:3:5: found no "description"; expected a description for the model: what the tool does and when to use it',
    ],
  },
  {
    fault: 'an invalid name',
    manifest: HEAD.replace('name: a', 'name: ../../etc'),
    problems: [
      'manifest.yaml:3:11: found "../../etc"; expected a name of 1 to 64 letters, digits, _ and -; the method is tool_<name> or <name>',
    ],
  },
  {
    fault: 'a duplicate tool name',
    manifest: `${HEAD}  - name: a\n    description: Again\n`,
    problems: ['manifest.yaml:5:11: found "a" again; expected a different name for each tool'],
  },
  {
    fault: 'an unknown exposure',
    manifest: `exposure: later\n${HEAD}`,
    problems: ['manifest.yaml:1:11: found "later"; expected one of auto, direct, deferred, code, hidden'],
  },
  {
    fault: 'an unknown capability',
    manifest: `${HEAD}    capability: destroy\n`,
    problems: ['manifest.yaml:5:17: found "destroy"; expected one of read, write, create, delete'],
  },
  {
    fault: 'an annotation that is a string',
    manifest: `${HEAD}    annotations:\n      readOnlyHint: "yes"\n`,
    problems: ['manifest.yaml:6:21: found "yes"; expected true or false: the tool changes nothing'],
  },
  {
    fault: 'an annotation that MCP does not have',
    manifest: `${HEAD}    annotations: { readonlyhint: true }\n`,
    problems: [
      'manifest.yaml:5:20: found the unknown key "readonlyhint"; expected "readOnlyHint" (did you mean that?)',
    ],
  },
  {
    fault: 'parameters that are a list',
    manifest: `${HEAD}    parameters: [a]\n`,
    problems: [
      'manifest.yaml:5:17: found a list; expected a JSON Schema for an object (2020-12, or the draft in its $schema)',
    ],
  },
  {
    fault: 'parameters that are not an object',
    manifest: `${HEAD}    parameters:\n      type: array\n`,
    problems: ['manifest.yaml:6:13: found "array"; expected "object": a method takes one object'],
  },
  {
    fault: 'a type that JSON Schema does not have, deep inside',
    manifest: `${HEAD}    parameters:\n      properties:\n        x:\n          type: strin\n`,
    problems: [
      'manifest.yaml:8:17: found "strin"; expected JSON Schema: properties.x.type must be equal to one of the allowed values',
    ],
  },
  {
    fault: 'a reference to nothing',
    manifest: `${HEAD}    parameters:\n      properties:\n        x: { $ref: "#/$defs/gone" }\n`,
    problems: [
      "manifest.yaml:6:7: found a schema that does not compile; expected JSON Schema: can't resolve reference #/$defs/gone from id #",
    ],
  },
  {
    fault: 'an unquoted comma',
    manifest: `${HEAD}    parameters: { properties: { x: { type: string, default: '', description: A name, without .md } } }\n`,
    problems: [
      'manifest.yaml:5:86: found "without .md" without a value; expected a value; put a string with a comma in quotes',
    ],
  },
  {
    fault: 'an unset variable',
    manifest: `${HEAD}env:\n  - POCKET_TEST_UNSET\n`,
    problems: [
      'manifest.yaml:6:5: found POCKET_TEST_UNSET, which is not set; expected the environment variable POCKET_TEST_UNSET to be set',
    ],
  },
  {
    fault: 'a variable with an invalid name',
    manifest: `${HEAD}env:\n  - API KEY\n`,
    problems: [
      'manifest.yaml:6:5: found "API KEY"; expected the name of an environment variable, or a mapping with name, optional and description',
    ],
  },
  {
    fault: 'an MCP server without command and url',
    manifest: `${HEAD}mcp_servers:\n  remote:\n    type: http\n`,
    problems: [
      'manifest.yaml:7:5: found an invalid entry; expected MCP server "remote" needs a "command" (a program to start) or a "url" (a remote server).',
    ],
  },
  {
    fault: 'an MCP server with a wrong header, whose value is not repeated',
    manifest: `${HEAD}mcp_servers:\n  remote:\n    url: http://x\n    headers: { authorization: 12345678 }\n`,
    problems: ['manifest.yaml:8:31: found a number; expected a string'],
  },
  {
    fault: 'recursive aliases',
    manifest: `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]\n`,
    problems: [
      'manifest.yaml:1:1: found aliases that cannot be resolved (Excessive alias count indicates a resource exhaustion attack); expected fewer aliases',
    ],
  },
  {
    fault: 'a missing method',
    code: 'export class Tools { async tool_b() {} }',
    problems: [
      'manifest.yaml:3:11: found "a", but tool.ts has no method for it; expected a method tool_a or a of class Tools',
      'tool.ts:1:1: found the method tool_b without a manifest entry; expected an entry for it in tool_list; name a method that is not a tool #name or _name',
    ],
  },
  {
    fault: 'a misspelt method',
    manifest: manifestOf('search'),
    code: 'export class Tools { async tool_serach() {} }',
    problems: [
      'manifest.yaml:3:11: found "search", but tool.ts has no method for it; expected a method tool_search or search of class Tools',
      'tool.ts:1:1: found the method tool_serach without a manifest entry; expected an entry for it in tool_list (did you mean "search"?); name a method that is not a tool #name or _name',
    ],
  },
  {
    fault: 'a bare method without an entry',
    code: 'export class Tools {\n  async a() {}\n  async other() {}\n  async _own() {}\n}',
    problems: [
      'tool.ts:3:1: found the method other without a manifest entry; expected an entry for it in tool_list; name a method that is not a tool #name or _name',
    ],
  },
  {
    fault: 'a tool name that every object has as a property',
    manifest: manifestOf('constructor', 'toString', '__proto__'),
    code: 'export class Tools {}',
    problems: [
      'manifest.yaml:3:11: found "constructor", but tool.ts has no method for it; expected a method tool_constructor or constructor of class Tools',
      'manifest.yaml:5:11: found "toString", but tool.ts has no method for it; expected a method tool_toString or toString of class Tools',
      'manifest.yaml:7:11: found "__proto__", but tool.ts has no method for it; expected a method tool___proto__ or __proto__ of class Tools',
    ],
  },
  {
    fault: 'a method with positional parameters',
    manifest: `${HEAD}    parameters: { properties: { x: {}, y: {} } }\n`,
    code: 'export class Tools { async tool_a(x: number, y: number) { return x * y; } }',
    problems: ['manifest.yaml:5:5: found tool_a(x, y); expected one object: tool_a({ x, y }, call)'],
  },
  {
    fault: 'a parameter that the manifest does not have',
    manifest: `${HEAD}    parameters: { properties: { x: {} } }\n`,
    code: 'export class Tools { async tool_a({ x, z = "}," }: { x?: unknown; z?: unknown }) { return [x, z]; } }',
    problems: [
      'manifest.yaml:5:5: found tool_a({ x, z }), where the manifest has no z; expected one object: tool_a({ x }, call)',
    ],
  },
  {
    fault: 'a parameter that the method does not take',
    manifest: `${HEAD}    parameters: { properties: { x: {}, y: {} } }\n`,
    code: 'export class Tools { async tool_a({ x }: { x?: unknown }) { return x; } }',
    problems: [
      'manifest.yaml:5:5: found tool_a({ x }), which does not take y; expected one object: tool_a({ x, y }, call)',
    ],
  },
  {
    fault: 'a method without parameters',
    manifest: `${HEAD}    parameters: { properties: { x: {} } }\n`,
    problems: ['manifest.yaml:5:5: found tool_a() without parameters; expected one object: tool_a({ x }, call)'],
  },
  {
    fault: 'a module without the class',
    code: 'export const tools = {}; export function helper() {}',
    problems: [
      'tool.ts:1:1: found exports of helper, tools; expected export class Tools { … }, a class that takes one context object',
    ],
  },
  {
    fault: 'a module that throws',
    code: 'export class Tools {}\n\nthrow new Error("no network");',
    problems: ['tool.ts:3:1: found an error: no network; expected a module that loads'],
  },
  {
    fault: 'a module that never finishes',
    code: 'await new Promise(() => {});\nexport class Tools {}',
    problems: ['tool.ts:1:1: found a module that did not load within 2000 ms; expected a module that loads'],
    loadTimeoutMs: 2_000,
  },
  {
    fault: 'a constructor that throws',
    code: 'export class Tools { constructor() { throw new Error("no token"); } async tool_a() {} }',
    problems: [
      'tool.ts:1:1: found an error in the constructor of Tools: no token; expected a constructor that does not throw',
    ],
  },
];

test.each(faults)(
  '$fault is reported with its position',
  async ({ manifest = HEAD, code = CODE, problems, loadTimeoutMs = 20_000 }) => {
    const root = writeFiles({
      'Bad/manifest.yaml': manifest,
      'Bad/tool.ts': code,
      'Good/manifest.yaml': manifestOf('hello'),
      'Good/tool.ts': 'export class Tools { async hello() { return "hi"; } }',
    });
    const { logger, lines } = recordLog();
    const folder = loadToolFolder(root, { logger, loadTimeoutMs });
    const [bad, good] = await folder.load();
    const short = (text: string) => text.replaceAll(join(root, 'Bad/'), '');
    expect(bad?.problems.map((problem) => short(problemText(problem)))).toEqual(problems);
    expect(bad?.tools).toEqual([]);
    expect(good?.problems).toEqual([]);
    expect((await folder.listTools()).map(({ name }) => name)).toEqual(['hello']);
    expect(lines.map(short)).toEqual(problems.map((problem) => `warn: ${problem}`));
    await folder.close();
  },
);

test('a folder without a manifest, without code, or with two manifests is reported', async () => {
  const root = writeFiles({
    'A/tool.ts': CODE,
    'B/manifest.yaml': manifestOf('b'),
    'C/manifest.yaml': manifestOf('c'),
    'C/manifest.yml': manifestOf('c'),
    'D/notes.txt': 'no tool folder at all',
    '__pycache__/tool.ts': CODE,
    '.hidden/tool.ts': CODE,
  });
  const folder = loadToolFolder(root, { logger: silent });
  const states = await folder.load();
  const found = states.map(({ name, problems }) => [name, ...problems.map((problem) => problem.found)]);
  expect(found).toEqual([
    ['A', 'no manifest.yaml'],
    ['B', 'tools without code'],
    ['C', 'both manifest.yaml and manifest.yml'],
  ]);
});

test('TypeScript inside node_modules is a problem unless it is compiled', async () => {
  const root = writeFiles({
    'node_modules/x/A/manifest.yaml': manifestOf('a'),
    'node_modules/x/A/tool.ts': CODE,
    'node_modules/x/B/manifest.yaml': manifestOf('a'),
    'node_modules/x/B/tool.ts': CODE,
    'node_modules/x/B/tool.js': CODE,
  });
  const states = await loadToolFolder(join(root, 'node_modules/x'), { logger: silent }).load();
  expect(states).toMatchObject([
    { name: 'A', problems: [{ found: 'TypeScript inside node_modules, which Node does not load' }] },
    { name: 'B', problems: [], tools: [{ name: 'a' }] },
  ]);
});

test('strict listing throws all problems of all folders', async () => {
  const root = writeFiles({ 'A/manifest.yaml': '', 'B/manifest.yaml': '- x' });
  const folder = loadToolFolder(root, { strict: true, logger: silent });
  await expect(folder.listTools()).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(/A\/manifest\.yaml:1:1: .*\n.*B\/manifest\.yaml:1:1: /),
    details: { problems: [{ line: 1 }, { line: 1 }] },
  });
});

test('a missing path is an error that names it', async () => {
  await expect(loadToolFolder('/nowhere/at/all', { logger: silent }).listTools()).rejects.toThrow(
    'Cannot read the tool folder /nowhere/at/all',
  );
});

test('anchors and merge keys work, and tool_name is an alias of tool_human_name', async () => {
  const root = writeFiles({
    'A/manifest.yml': `tool_name: Numbers
tool_list:
  - &base
    name: a
    description: Does a
    parameters: &number { type: object, properties: { x: { type: number } } }
  - <<: *base
    name: b
`,
    'A/tool.mjs': 'export default class { async a({ x }) { return x; } async b({ x, ...rest }) { return x; } }',
  });
  const folder = loadToolFolder(join(root, 'A'), { logger: silent });
  const [state] = await folder.load();
  expect(state).toMatchObject({ name: 'A', humanName: 'Numbers', problems: [], tools: [{ name: 'a' }, { name: 'b' }] });
});

test('values of variables do not appear in problems or states', async () => {
  const root = writeFiles({
    'A/manifest.yaml': `${HEAD}env: [POCKET_TEST_SECRET, POCKET_TEST_UNSET]\n`,
    'A/tool.ts': CODE,
  });
  const { logger, lines } = recordLog();
  const folder = loadToolFolder(root, { logger, env: { POCKET_TEST_SECRET: 'hunter2' } });
  expect(JSON.stringify(await folder.load())).not.toContain('hunter2');
  expect(lines.join()).toContain('POCKET_TEST_UNSET');
  expect(lines.join()).not.toContain('hunter2');
});

test('manifest.schema.json is up to date', () => {
  const file = new URL('../src/manifest/manifest.schema.json', import.meta.url);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(JSON.stringify(manifestJsonSchema())));
});
