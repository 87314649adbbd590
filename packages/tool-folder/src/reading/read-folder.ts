// Reads and checks one tool folder, without creating an instance of its class.
import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Tool } from '@modelcontextprotocol/client';
import { errorText, withoutUndefined } from '@pocket-agent/kit';
import { compileSchema } from '@pocket-agent/schema';
import type { Capability, Exposure, McpServerEntry, Skill } from 'pocket-agent';
import { readMcpConfig } from 'pocket-agent/internal';
import { describedManifest, type Manifest } from '../manifest/manifest-schema.ts';
import { describeValue, type ManifestProblem } from '../manifest/problem.ts';
import { YamlFile } from '../manifest/yaml-file.ts';
import { type ParsedSkill, readSkill } from '../skills/read-skill.ts';
import { type FolderTool, readCode, type ToolDefinition } from './folder-code.ts';
import { folderFiles } from './folder-files.ts';
import type { ImportOptions, ToolsClass } from './tools-module.ts';

export interface ParsedFolder {
  /** The name of the directory. */
  name: string;
  humanName: string;
  path: string;
  env: Record<string, string>;
  /** Undefined if the folder has no code. */
  Tools: ToolsClass | undefined;
  /** The file to name in problems that occur when the folder runs. */
  codeFile: string;
  tools: ReadonlyMap<string, FolderTool>;
  /** The tools that declare no capability and count as `delete`. */
  undeclared: string[];
  mcpServers: Record<string, McpServerEntry>;
  /** How the manifest wants the tools to be offered to models. */
  exposure: Exposure | undefined;
  /** From a SKILL.md in the folder. */
  skill: Skill | undefined;
  problems: ManifestProblem[];
  /** Reported although the folder works. */
  warnings: ManifestProblem[];
}

export interface ReadOptions extends ImportOptions {
  /** The capability of tools that declare none. */
  defaultCapability: Capability | undefined;
  env: Readonly<Record<string, string | undefined>>;
}

/** In bytes. A hostile manifest of this size takes about two seconds to parse; normal ones have a few kilobytes. */
const MAX_MANIFEST = 250_000;

/** Does not throw: errors become problems of the folder. */
export async function readFolder(path: string, options: ReadOptions): Promise<ParsedFolder> {
  const file = join(path, 'manifest.yaml');
  const failed = (found: string, expected: string): ParsedFolder => ({
    ...emptyFolder(path),
    problems: [{ file, line: 1, column: 1, found, expected }],
  });
  try {
    const { manifests, modules, hasSkill } = await folderFiles(path);
    const [first, second] = manifests;
    const isSkillOnly = hasSkill && manifests.length + modules.length === 0;
    const skill = hasSkill ? await readSkill(path, { allowsAnyName: !isSkillOnly }) : undefined;
    if (skill && isSkillOnly) return withSkill(emptyFolder(path), skill);
    if (!first) return failed('no manifest.yaml', 'a manifest.yaml beside tool.ts');
    if (second) return failed(`both ${first} and ${second}`, 'one of them');
    const { size } = await stat(join(path, first));
    if (size > MAX_MANIFEST) return failed(`${size} bytes`, `at most ${MAX_MANIFEST}`);
    const file = join(path, first);
    const source = new YamlFile({ file, text: await readFile(file, 'utf8'), schema: describedManifest });
    if (!source.value) return { ...emptyFolder(path), problems: source.problems };
    const folder = await readManifest(source, source.value, { path, module: modules[0], options });
    return skill ? withSkill(folder, skill) : folder;
  } catch (error) {
    return failed(`an error: ${errorText(error)}`, 'a folder that this process may read');
  }
}

function emptyFolder(path: string): ParsedFolder {
  const name = basename(path);
  return {
    name,
    humanName: name,
    path,
    env: {},
    Tools: undefined,
    codeFile: join(path, 'tool.ts'),
    tools: new Map(),
    undeclared: [],
    mcpServers: {},
    exposure: undefined,
    skill: undefined,
    problems: [],
    warnings: [],
  };
}

function withSkill(folder: ParsedFolder, { skill, problems, warnings }: ParsedSkill): ParsedFolder {
  return { ...folder, skill, problems: [...folder.problems, ...problems], warnings };
}

async function readManifest(
  source: YamlFile<Manifest>,
  manifest: Manifest,
  { path, module, options }: { path: string; module: string | undefined; options: ReadOptions },
): Promise<ParsedFolder> {
  const name = basename(path);
  const humanName = manifest.tool_human_name ?? manifest.tool_name ?? name;
  const codeFile = join(path, module ?? 'tool.ts');
  checkManifest(source, manifest);
  const env = readEnvironment(source, manifest, options.env);
  const mcpServers = readServers(source, manifest, path);
  const definitions = await readTools(source, manifest, options.defaultCapability);
  const code = { source, definitions, file: module === undefined ? undefined : codeFile };
  const { Tools, tools } = await readCode(code, options);
  const undeclared = [...tools.values()].flatMap(({ definition: { name, annotations, _meta } }) =>
    annotations || _meta ? [] : name,
  );
  const { problems } = source;
  const { exposure } = manifest;
  const folder = { ...emptyFolder(path), name, humanName, env, Tools, codeFile, tools, undeclared };
  return { ...folder, mcpServers, exposure, problems };
}

function checkManifest(source: YamlFile<Manifest>, manifest: Manifest): void {
  if (manifest.tool_human_name === undefined && manifest.tool_name === undefined) {
    source.report([], {
      found: 'no "tool_human_name"',
      expected: 'a name for users, as tool_human_name (or tool_name)',
    });
  }
  const { tool_list: list = [], mcp_servers: servers = {} } = manifest;
  if (list.length === 0 && Object.keys(servers).length === 0) {
    source.report(['tool_list'], { found: 'no tools', expected: 'at least one tool in tool_list, or mcp_servers' });
  }
}

function readEnvironment(
  source: YamlFile<Manifest>,
  manifest: Manifest,
  given: ReadOptions['env'],
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [index, entry] of (manifest.env ?? []).entries()) {
    const { name, optional = false } = typeof entry === 'string' ? { name: entry } : entry;
    const value = given[name];
    if (value) env[name] = value;
    else if (!optional) {
      const expected = `the environment variable ${name} to be set`;
      source.report(['env', index], { found: `${name}, which is not set`, expected });
    }
  }
  return env;
}

function readServers(source: YamlFile<Manifest>, manifest: Manifest, cwd: string): Record<string, McpServerEntry> {
  const servers: Record<string, McpServerEntry> = {};
  for (const [name, entry] of Object.entries(manifest.mcp_servers ?? {})) {
    try {
      const server = 'command' in entry ? { cwd, ...entry } : entry;
      const read = readMcpConfig({ mcpServers: { [name]: server as McpServerEntry } });
      for (const [key, value] of read) servers[key] = value;
    } catch (error) {
      source.report(['mcp_servers', name], { found: 'an invalid entry', expected: errorText(error) });
    }
  }
  return servers;
}

/** The valid tools of the manifest, by name. */
async function readTools(
  source: YamlFile<Manifest>,
  manifest: Manifest,
  defaultCapability: Capability | undefined,
): Promise<Map<string, ToolDefinition>> {
  const tools = new Map<string, ToolDefinition>();
  for (const [index, entry] of (manifest.tool_list ?? []).entries()) {
    const { name, description, parameters = {}, annotations } = entry;
    const capability = entry.capability ?? (annotations ? undefined : defaultCapability);
    const path = ['tool_list', index, 'parameters'];
    if (tools.has(name)) {
      source.report(['tool_list', index, 'name'], {
        found: `${describeValue(name)} again`,
        expected: 'a different name for each tool',
      });
      continue;
    }
    const { type = 'object' } = parameters;
    if (type !== 'object') {
      source.report([...path, 'type'], { found: describeValue(type), expected: '"object": a method takes one object' });
      continue;
    }
    const inputSchema: Tool['inputSchema'] = { properties: {}, ...parameters, type: 'object' };
    const compiled = await compileSchema(inputSchema);
    if ('fault' in compiled) {
      const { path: inner, message } = compiled.fault;
      const found =
        inner.length > 0 ? describeValue(inner.reduce<unknown>(valueAt, parameters)) : 'a schema that does not compile';
      source.report([...path, ...inner], {
        found,
        expected: `JSON Schema: ${[inner.join('.'), message].join(' ').trim()}`,
      });
      continue;
    }
    const definition: Tool = {
      name,
      description,
      inputSchema,
      ...(annotations ? { annotations: withoutUndefined(annotations) } : {}),
      ...(capability ? { _meta: { capability } } : {}),
    };
    tools.set(name, { index, definition, check: compiled.check });
  }
  return tools;
}

function valueAt(value: unknown, step: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined;
}
