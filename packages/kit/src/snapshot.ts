// Deep copies of plain data, so that other code cannot change ours.

/** Results of `snapshot`, which need no second copy. */
const snapshots = new WeakSet<object>();

/** A frozen deep copy. Errors, bytes and class instances are shared, not copied. */
export function snapshot<Value>(value: Value): Value {
  return copied(value, new Map(), true);
}

/** A deep copy that may be changed. Errors, bytes and class instances are shared, not copied. */
export function deepCopy<Value>(value: Value): Value {
  return copied(value, new Map(), false);
}

/** Freezes plain data with everything in it, and returns it. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) deepFreeze(item);
  return Object.freeze(value);
}

function copied<Value>(value: Value, seen: Map<unknown, unknown>, isFrozen: boolean): Value;
function copied(value: unknown, seen: Map<unknown, unknown>, isFrozen: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isFrozen && snapshots.has(value)) return value;
  if (!Array.isArray(value) && !isPlain(value)) return value;
  const known = seen.get(value);
  if (known) return known;
  const copy = Array.isArray(value) ? [] : {};
  seen.set(value, copy);
  if (Array.isArray(value) && Array.isArray(copy)) {
    for (const item of value) copy.push(copied(item, seen, isFrozen));
  } else for (const [key, item] of Object.entries(value)) setOwn(copy, key, copied(item, seen, isFrozen));
  if (!isFrozen) return copy;
  snapshots.add(copy);
  return Object.freeze(copy);
}

/** Plain assignment to `__proto__` would change the prototype. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
