// How scripts name tools: by server, `github.search_issues`, and all of them by their full name, `tools.search_issues`.
import type { ReachableTool } from 'pocket-agent';
import type { ScriptFunctions } from './sandbox.ts';

/** The namespace of all tools. */
export const ALL = 'tools';

/** Servers may give longer ones; such a tool is only in `tools`, where names are short. */
const MAX_NAME = 100;
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
  /** The names of tools, by namespace and by their name at the server. */
  readonly #groups: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly #names: readonly string[];

  constructor(tools: readonly ReachableTool[]) {
    this.#names = tools.map(({ name }) => name);
    const byNamespace = Map.groupBy(tools, namespaceOf);
    byNamespace.delete(undefined);
    const groups = [...byNamespace].flatMap(([namespace = '', members]) => {
      const isSingleServer = new Set(members.map(({ group }) => group?.name)).size === 1;
      return isSingleServer ? [[namespace, byOwnName(members)] as const] : [];
    });
    this.#groups = new Map(groups);
  }

  /** As a script calls it: `github.search_issues`, or `tools["search-issues"]`. */
  pathOf(tool: ReachableTool): string {
    const namespace = namespaceOf(tool);
    const own = ownNameOf(tool);
    const isInGroup = namespace !== undefined && this.#groups.get(namespace)?.get(own) === tool.name;
    return isInGroup ? `${namespace}${access(own)}` : `${ALL}${access(tool.name)}`;
  }

  get table(): ScriptFunctions {
    const groups = [...this.#groups].map(([namespace, members]) => [namespace, Object.fromEntries(members)] as const);
    return { ...Object.fromEntries(groups), [ALL]: Object.fromEntries(this.#names.map((name) => [name, name])) };
  }
}

/** Without names that two tools share. */
function byOwnName(tools: readonly ReachableTool[]): Map<string, string> {
  const named = [...Map.groupBy(tools, ownNameOf)];
  return new Map(
    named.flatMap(([own, [tool, ...others]]) =>
      tool && others.length === 0 && own.length <= MAX_NAME ? [[own, tool.name]] : [],
    ),
  );
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
