// tool.ts, tool.js or tool.mjs of a folder: imported within a time limit, its class found, its methods matched.
import { realpath } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { basename, dirname, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorText } from '@pocket-agent/kit';

export type ToolMethod = (args: Record<string, unknown>, context: object) => unknown;
export type ToolsClass = new (...context: object[]) => object;

export interface Methods {
  /** Of the class and its base classes, by name. */
  all: ReadonlyMap<string, ToolMethod>;
  /** Of the class itself. */
  own: ReadonlySet<string>;
}

/** A fault of the module, at a line of it where that is known. */
export interface ModuleFault {
  line: number;
  found: string;
  expected: string;
}

export interface ImportOptions {
  timeoutMs: number;
  /** Another one imports the module again, with all that it imports from its own folder. */
  version?: string;
}

const CLASS_EXPECTED = 'export class Tools { … }, a class that takes one context object';

const MODULE_EXPECTED =
  'an ES module: the package.json nearest to it makes it CommonJS; put one with { "type": "module" } beside it';

export async function importTools(
  file: string,
  { timeoutMs, version }: ImportOptions,
): Promise<ToolsClass | ModuleFault> {
  if (file.endsWith('.ts') && (await realpath(file)).includes(`${sep}node_modules${sep}`)) {
    const found = 'TypeScript inside node_modules, which Node does not load';
    return { line: 1, found, expected: 'tool.js or tool.mjs (compile tool.ts before the package is published)' };
  }
  const query = version === undefined ? '' : await versionQuery(version, dirname(file));
  if (version !== undefined) followVersions();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, 'late');
  });
  try {
    const loading: Promise<unknown> = import(pathToFileURL(file).href + query);
    const module = await Promise.race([loading, late]);
    if (module === 'late') {
      return { line: 1, found: `a module that was not imported within ${timeoutMs} ms`, expected: 'one that loads' };
    }
    return toolsClass(module);
  } catch (error) {
    return {
      line: lineIn(error, file),
      found: `an error: ${oneLine(errorText(error))}`,
      expected: isTakenForCommonJs(error) ? MODULE_EXPECTED : 'a module that loads',
    };
  } finally {
    clearTimeout(timer);
  }
}

function isTakenForCommonJs(error: unknown): boolean {
  if (!(error instanceof SyntaxError)) return false;
  return /Unexpected token 'export'|Cannot use import statement outside a module/.test(error.message);
}

function toolsClass(module: unknown): ToolsClass | ModuleFault {
  const exported: Record<string, unknown> = { ...(module as object) };
  const found = exported.Tools ?? exported.default;
  if (typeof found === 'function' && /^class\b/.test(Function.prototype.toString.call(found))) {
    return found as ToolsClass;
  }
  const names = Object.keys(exported).sort().join(', ') || 'nothing';
  return { line: 1, found: `exports of ${names}`, expected: CLASS_EXPECTED };
}

/** Everything that could be called, down to but not including what every object has. */
export function methodsOf(tools: ToolsClass): Methods {
  const all = new Map<string, ToolMethod>();
  for (let level: unknown = tools.prototype; isObject(level) && level !== Object.prototype; level = parentOf(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (name !== 'constructor' && typeof value === 'function' && !all.has(name)) all.set(name, value);
    }
  }
  return { all, own: new Set(Object.getOwnPropertyNames(tools.prototype).filter((name) => all.has(name))) };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function parentOf(value: object): unknown {
  return Object.getPrototypeOf(value);
}

/** Node and others name the place of an error as `tool.ts:3` or `tool.ts?…:3`. */
function lineIn(error: unknown, file: string): number {
  const text = error instanceof Error ? `${error.stack} ${error.message}` : '';
  const place = new RegExp(`${basename(file).replace('.', '\\.')}(?:\\?[^:\\s]*)?:(\\d+)`).exec(text);
  return Number(place?.[1] ?? 1);
}

function oneLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

const VERSION = 'pocket-agent-version';
let isFollowing = false;

/** Names the folder too, as Node names what is in it: without the links that lead there. */
async function versionQuery(version: string, folder: string): Promise<string> {
  const { href } = pathToFileURL((await realpath(folder)) + sep);
  return `?${VERSION}=${version}&folder=${encodeURIComponent(href)}`;
}

/**
 * What a module with a version imports by a relative path from its tool folder gets the same version: Node never
 * forgets a module. What is outside belongs to others too, and stays one module for all.
 */
function followVersions(): void {
  if (isFollowing) return;
  isFollowing = true;
  const query = new RegExp(`\\?${VERSION}=[^&#]+&folder=([^&#]+)$`);
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const [version, folder] = (specifier.startsWith('.') && query.exec(context.parentURL ?? '')) || [];
      const isInside = folder !== undefined && resolved.url.startsWith(decodeURIComponent(folder));
      return isInside ? { ...resolved, url: resolved.url + version } : resolved;
    },
  });
}
