// Limits the nesting of JSON from outside.

export const MAX_DEPTH = 100;

/** Deeper nesting overflows the stack of JSON.stringify. Stops at the limit. */
export function isTooDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isTooDeep(item, levels - 1));
}
