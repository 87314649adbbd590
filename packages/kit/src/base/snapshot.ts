// Deep copies of plain data, so that other code cannot change ours.

class ReturnsItsArgument {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: adds the private field of `Snapshot` to an object of ours
    return object;
  }
}

/** Marks results of `snapshot`, which need no second copy. A WeakSet costs six times as much per object. */
class Snapshot extends ReturnsItsArgument {
  readonly #mark = true;

  static is(object: object): boolean {
    return #mark in object;
  }
}

/** A frozen deep copy. Errors, bytes and class instances are shared, not copied. */
export function snapshot<Value>(value: Value): Value {
  return copied(value, true);
}

/** A deep copy that may be changed. Errors, bytes and class instances are shared, not copied. */
export function deepCopy<Value>(value: Value): Value {
  return copied(value, false);
}

/** Freezes plain data in place and returns it: a snapshot without a copy, for data that no other code refers to. */
export function deepFreeze<Value>(value: Value): Value {
  if (!isData(value) || Snapshot.is(value)) return value;
  const marked: object = new Snapshot(value); // before its items, which may contain it
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const key in value) deepFreeze(value[key]);
  return Object.freeze(marked) as Value;
}

/** Original to copy, for data that contains an object twice or refers to itself. */
type Copies = Map<unknown, unknown>;

function copied<Value>(value: Value, isFrozen: boolean, copies?: Copies): Value;
function copied(value: unknown, isFrozen: boolean, copies?: Copies): unknown {
  if (!isData(value) || (isFrozen && Snapshot.is(value))) return value;
  const known = copies?.get(value);
  if (known) return known;
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [] : {};
  copies?.set(value, copy);
  let all = copies;
  const copyItem = (item: unknown) => {
    if (typeof item !== 'object' || item === null) return item;
    all ??= new Map([[value, copy]]); // flat data needs no map
    return copied(item, isFrozen, all);
  };
  if (Array.isArray(copy)) for (const item of value as unknown as unknown[]) copy.push(copyItem(item));
  else for (const key of Object.keys(value)) setOwn(copy, key, copyItem(value[key]));
  return isFrozen ? Object.freeze(new Snapshot(copy)) : copy;
}

/** Plain assignment to `__proto__` would change the prototype. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else target[key] = value;
}

/** Whether a value is a list or a plain object. */
function isData(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
