// Copies of plain data, for values that other code gets to see: what it does to them changes nothing here.

/** Made by `snapshot`, so they need not be copied again. */
const snapshots = new WeakSet<object>();

/** A frozen deep copy. Errors, bytes and instances of classes in it are shared, not copied. */
export function snapshot<Value>(value: Value): Value {
  const copy = copied(value, new Map(), true);
  if (typeof copy === 'object' && copy !== null) snapshots.add(copy);
  return copy;
}

/** A deep copy that its receiver may change. Errors, bytes and instances of classes in it are shared, not copied. */
export function copyOf<Value>(value: Value): Value {
  return copied(value, new Map(), false);
}

function copied<Value>(value: Value, seen: Map<unknown, unknown>, isFrozen: boolean): Value;
function copied(value: unknown, seen: Map<unknown, unknown>, isFrozen: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isFrozen && snapshots.has(value)) return value;
  if (!Array.isArray(value) && !isPlain(value)) return value;
  const known = seen.get(value);
  if (known) return known;
  const copy: unknown[] | Record<string, unknown> = Array.isArray(value) ? [] : {};
  seen.set(value, copy);
  for (const [key, item] of Object.entries(value)) {
    const inside = copied(item, seen, isFrozen);
    if (key === '__proto__') Object.defineProperty(copy, key, { value: inside, ...ordinary });
    else Reflect.set(copy, key, inside);
  }
  return isFrozen ? Object.freeze(copy) : copy;
}

const ordinary = { enumerable: true, configurable: true, writable: true };

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
