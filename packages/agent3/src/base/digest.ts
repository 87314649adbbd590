// Digests of JSON: equal values have equal digests.
import { createHash } from 'node:crypto';
import { canonicalJson } from '@pocket-agent/a2a/client';

export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
