// How scripts name tools: by server, `github.search_issues`, and all of them by their full name, `tools.search_issues`.
import type { ReachableTool } from 'pocket-agent';
import type { ScriptFunctions } from './sandbox.ts';

/** The namespace of all tools. */
export const ALL = 'tools';

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const TAKEN = new Set(
  `${ALL} console globalThis undefined NaN Infinity eval parseInt parseFloat isNaN isFinite decodeURI decodeURIComponent
  encodeURI encodeURIComponent escape unescape Object Function Error EvalError RangeError ReferenceError SyntaxError TypeError
  URIError InternalError AggregateError Array Iterator Number Boolean String Symbol Math JSON Reflect Proxy Map Set WeakMap
  WeakSet WeakRef FinalizationRegistry ArrayBuffer SharedArrayBuffer Atomics DataView BigInt Promise Date RegExp DOMException
  performance navigator queueMicrotask btoa atob arguments await async break case catch class const continue debugger default
  delete do else enum export extends false finally for function if implements import in instanceof interface let new null
  package private protected public return static super switch this throw true try typeof var void while with yield constructor
  toString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString __proto__ __defineGetter__
  __defineSetter__ __lookupGetter__ __lookupSetter__`.split(/\s+/),
);

export class FunctionNames {
  /** By namespace and own name of the tool: the names of the tools that have it. */
  readonly #groups = new Map<string, { servers: Set<string>; tools: Map<string, string[]> }>();
  readonly #names: readonly string[];

  constructor(tools: readonly ReachableTool[]) {
    this.#names = tools.map(({ name }) => name);
    for (const tool of tools) {
      const namespace = namespaceOf(tool);
      if (namespace === undefined) continue;
      const group = this.#groups.get(namespace) ?? { servers: new Set(), tools: new Map() };
      this.#groups.set(namespace, group);
      group.servers.add(tool.group?.name ?? '');
      const own = ownNameOf(tool);
      group.tools.set(own, [...(group.tools.get(own) ?? []), tool.name]);
    }
  }

  /** As a script calls it: `github.search_issues`, or `tools["search-issues"]`. */
  pathOf(tool: ReachableTool): string {
    const namespace = namespaceOf(tool);
    const group = namespace === undefined ? undefined : this.#group(namespace);
    return group?.get(ownNameOf(tool)) === tool.name
      ? `${namespace}${access(ownNameOf(tool))}`
      : `${ALL}${access(tool.name)}`;
  }

  get table(): ScriptFunctions {
    const all = Object.fromEntries(this.#names.map((name) => [name, name]));
    const groups = [...this.#groups.keys()].flatMap((namespace) => {
      const group = this.#group(namespace);
      return group ? [[namespace, Object.fromEntries(group)] as const] : [];
    });
    return { ...Object.fromEntries(groups), [ALL]: all };
  }

  /** Undefined if two servers would have this namespace. */
  #group(namespace: string): Map<string, string> | undefined {
    const group = this.#groups.get(namespace);
    if (!group || group.servers.size > 1) return undefined;
    return new Map(
      [...group.tools].flatMap(([own, [name = '', ...others]]) => (others.length > 0 ? [] : [[own, name]])),
    );
  }
}

function namespaceOf({ group }: ReachableTool): string | undefined {
  const name = group?.name.replace(/[^\w$]/g, '_').replace(/^(?=\d)/, '_') ?? '';
  return name === '' || TAKEN.has(name) ? undefined : name;
}

function ownNameOf({ ownName, tool }: ReachableTool): string {
  return ownName ?? tool.name;
}

function access(name: string): string {
  return IDENTIFIER.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
