// Imports tool.ts, tool.js or tool.mjs within a time limit, and finds the class and its methods.
import { realpath } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { basename, dirname, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorText, settlesWithin } from '@pocket-agent/kit';

export type ToolMethod = (args: Record<string, unknown>, context: object) => unknown;
export type ToolsClass = new (...context: object[]) => object;

export interface Methods {
  /** Methods of the class and its base classes, by name. */
  all: ReadonlyMap<string, ToolMethod>;
  /** Names of the methods of the class itself. */
  own: ReadonlySet<string>;
}

/** A problem of the module, with its line if known. */
interface ModuleProblem {
  line: number;
  found: string;
  expected: string;
}

export interface ImportOptions {
  timeoutMs: number;
  /** Another version imports the module again, together with the modules of its folder. */
  version?: string;
}

const CLASS_EXPECTED = 'export class Tools { … }, a class that takes one context object';

const MODULE_EXPECTED =
  'an ES module: the nearest package.json makes it CommonJS; put one with { "type": "module" } beside it';

export async function importTools(
  file: string,
  { timeoutMs, version }: ImportOptions,
): Promise<ToolsClass | ModuleProblem> {
  if (file.endsWith('.ts') && (await realpath(file)).includes(`${sep}node_modules${sep}`)) {
    const found = 'TypeScript inside node_modules, which Node does not load';
    return { line: 1, found, expected: 'tool.js or tool.mjs (compile tool.ts before the package is published)' };
  }
  const query = version === undefined ? '' : await versionQuery(version, dirname(file));
  if (version !== undefined) propagateVersions();
  try {
    const loading: Promise<unknown> = import(pathToFileURL(file).href + query);
    if (!(await settlesWithin(timeoutMs, loading)))
      return { line: 1, found: `a module that did not load within ${timeoutMs} ms`, expected: 'a module that loads' };
    return toolsClass(await loading);
  } catch (error) {
    return {
      line: lineIn(error, file),
      found: `an error: ${oneLine(errorText(error))}`,
      expected: isLoadedAsCommonJs(error) ? MODULE_EXPECTED : 'a module that loads',
    };
  }
}

function isLoadedAsCommonJs(error: unknown): boolean {
  if (!(error instanceof SyntaxError)) return false;
  return /Unexpected token 'export'|Cannot use import statement outside a module/.test(error.message);
}

function toolsClass(module: unknown): ToolsClass | ModuleProblem {
  const exported: Record<string, unknown> = { ...(module as object) };
  const found = exported.Tools ?? exported.default;
  if (typeof found === 'function' && /^class\b/.test(Function.prototype.toString.call(found))) {
    return found as ToolsClass;
  }
  const names = Object.keys(exported).sort().join(', ') || 'nothing';
  return { line: 1, found: `exports of ${names}`, expected: CLASS_EXPECTED };
}

/** All methods, including inherited ones but not those of Object. */
export function methodsOf(tools: ToolsClass): Methods {
  const all = new Map<string, ToolMethod>();
  let level: object | null = tools.prototype;
  for (; level !== null && level !== Object.prototype; level = Object.getPrototypeOf(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (name !== 'constructor' && typeof value === 'function' && !all.has(name)) all.set(name, value);
    }
  }
  return { all, own: new Set(Object.getOwnPropertyNames(tools.prototype).filter((name) => all.has(name))) };
}

/** Finds the line in a stack or message with `tool.ts:3` or `tool.ts?…:3`. */
function lineIn(error: unknown, file: string): number {
  const text = error instanceof Error ? `${error.stack} ${error.message}` : '';
  const place = new RegExp(`${basename(file).replace('.', '\\.')}(?:\\?[^:\\s]*)?:(\\d+)`).exec(text);
  return Number(place?.[1] ?? 1);
}

function oneLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

const VERSION = 'pocket-agent-version';
let isPropagating = false;

/** Contains the real path of the folder, as module URLs do. */
async function versionQuery(version: string, folder: string): Promise<string> {
  const { href } = pathToFileURL((await realpath(folder)) + sep);
  return `?${VERSION}=${version}&folder=${encodeURIComponent(href)}`;
}

/**
 * Gives relative imports inside the tool folder the version of the importing module, because Node never unloads a module.
 * Modules outside the folder may be shared and are not reloaded.
 */
function propagateVersions(): void {
  if (isPropagating) return;
  isPropagating = true;
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
