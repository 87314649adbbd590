// Deep copies of plain data, so that other code cannot change ours.

class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: adds the private field of `Snapshot` to an object of ours
    return object;
  }
}

/** Marks results of `snapshot`, which need no second copy. A WeakSet costs six times as much per object. */
class Snapshot extends Given {
  readonly #mark = true;

  static is(object: object): boolean {
    return #mark in object;
  }
}

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
  if (isFrozen && Snapshot.is(value)) return value;
  if (!Array.isArray(value) && !isPlain(value)) return value;
  const known = seen.get(value);
  if (known) return known;
  const copy = Array.isArray(value) ? [] : {};
  seen.set(value, copy);
  if (Array.isArray(value) && Array.isArray(copy)) {
    for (const item of value) copy.push(copied(item, seen, isFrozen));
  } else for (const key of Object.keys(value)) setOwn(copy, key, copied(Reflect.get(value, key), seen, isFrozen));
  return isFrozen ? Object.freeze(new Snapshot(copy)) : copy;
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
