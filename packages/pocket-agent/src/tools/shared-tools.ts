// Tools that are alike are one object: a thousand agents whose servers list the same keep it once.
import type { Tool } from '@modelcontextprotocol/client';

/** The last of each name. */
const known = new Map<string, WeakRef<Tool>>();
const dropped = new FinalizationRegistry<string>((name) => {
  if (!known.get(name)?.deref()) known.delete(name);
});

/** A tool as it was listed, without fields that have no value; frozen, since whoever changed it would do so for all. */
export function sharedTool(tool: Tool): Tool {
  const { name } = tool;
  const text = JSON.stringify(tool);
  const same = known.get(name)?.deref();
  if (same && JSON.stringify(same) === text) return same;
  const copy: Tool = frozen(text);
  known.set(name, new WeakRef(copy));
  dropped.register(copy, name);
  return copy;
}

/** What is in JSON, to be shared. */
export function frozen<Value>(json: string): Value {
  return JSON.parse(json, (_key, value) => Object.freeze(value));
}
