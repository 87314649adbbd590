// Matches the tools of a manifest with the methods of the class. Every tool needs a method, and every method an entry.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Tool } from '@modelcontextprotocol/client';
import { closest } from '@pocket-agent/kit';
import type { ArgumentCheck } from '@pocket-agent/schema';
import type { Manifest } from '../manifest/manifest-schema.ts';
import { describeValue } from '../manifest/problem.ts';
import type { YamlFile } from '../manifest/yaml-file.ts';
import { parameterMismatch } from './method-parameters.ts';
import {
  type ImportOptions,
  importTools,
  type Methods,
  methodsOf,
  type ToolMethod,
  type ToolsClass,
} from './tools-module.ts';

/** A tool that the manifest declares. */
export interface ToolDefinition {
  /** The index in `tool_list`. */
  index: number;
  definition: Tool;
  check: ArgumentCheck;
}

/** A declared tool with its method. */
export interface FolderTool {
  definition: Tool;
  check: ArgumentCheck;
  method: ToolMethod;
}

interface FolderSource {
  source: YamlFile<Manifest>;
  definitions: Map<string, ToolDefinition>;
  file: string;
}

/** Imports the module, finds a method for every tool and reports mismatches. */
export async function readCode(
  { source, definitions, file }: Omit<FolderSource, 'file'> & { file: string | undefined },
  options: ImportOptions,
): Promise<{ Tools: ToolsClass | undefined; tools: Map<string, FolderTool> }> {
  const none = { Tools: undefined, tools: new Map<string, FolderTool>() };
  if (file === undefined) {
    if (definitions.size > 0) {
      const expected = 'tool.ts (or tool.js, tool.mjs) beside the manifest';
      source.report(['tool_list'], { found: 'tools without code', expected }, 'key');
    }
    return none;
  }
  const Tools = await importTools(file, options);
  if (typeof Tools !== 'function') {
    source.problems.push({ file, column: 1, ...Tools });
    return none;
  }
  const methods = methodsOf(Tools);
  const tools = matchMethods({ source, definitions, file }, methods);
  const declared = new Set(source.value?.tool_list?.map(({ name }) => name));
  for (const name of strayMethods(methods, declared)) {
    const line = await lineOf(file, name);
    const meant = closest(name.replace(/^tool_/, ''), [...definitions.keys()]);
    const hint = meant && !tools.has(meant) ? ` (did you mean "${meant}"?)` : '';
    const expected = `an entry for it in tool_list${hint}; name a method that is not a tool #name or _name`;
    source.problems.push({ file, line, column: 1, found: `the method ${name} without a manifest entry`, expected });
  }
  return { Tools, tools };
}

function matchMethods({ source, definitions, file }: FolderSource, { all }: Methods): Map<string, FolderTool> {
  const tools = new Map<string, FolderTool>();
  for (const [name, { index, definition, check }] of definitions) {
    const method = all.get(`tool_${name}`) ?? all.get(name);
    if (!method) {
      const found = `${describeValue(name)}, but ${basename(file)} has no method for it`;
      source.report(['tool_list', index, 'name'], {
        found,
        expected: `a method tool_${name} or ${name} of class Tools`,
      });
      continue;
    }
    const mismatch = parameterMismatch(method, definition.inputSchema);
    if (mismatch) source.report(['tool_list', index, 'parameters'], mismatch, 'key');
    tools.set(name, { definition, check, method });
  }
  return tools;
}

/** Methods without an entry in the manifest. If the class has methods tool_…, only those are tools. */
function strayMethods({ all, own }: Methods, declared: ReadonlySet<string>): string[] {
  const names = [...all.keys()];
  const prefixed = names.filter((name) => name.startsWith('tool_'));
  const stray = prefixed.filter((name) => !declared.has(name.slice('tool_'.length)) && !declared.has(name));
  if (prefixed.length > 0) return stray;
  return [...own].filter((name) => !declared.has(name) && !name.startsWith('_') && name !== 'close');
}

/** The line of a method, found by a text search. */
async function lineOf(file: string, method: string): Promise<number> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  const found = lines.findIndex((line) => new RegExp(`(?:^|[\\s*])${method}\\s*\\(`).test(line));
  return found < 0 ? 1 : found + 1;
}
