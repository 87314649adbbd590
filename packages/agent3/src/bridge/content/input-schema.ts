// The JSON schema an agent declares for its input, and messages checked against it.
import { hash } from 'node:crypto';
import { checkForeign } from 'pocket-agent';
import { cleanLine } from '../../base/clean-text.ts';
import { isRecord, recordsIn } from '../../base/json.ts';
import type { CardJson } from '../../base/types.ts';

/**
 * The extension of A2A with which an agent says what JSON it takes, in `capabilities.extensions` of its card:
 * `{ uri, params: { inputSchema, skills: { [skillId]: inputSchema } } }`. A skill's own schema goes before that of all.
 * An `inputSchema` straight in a skill or in the card, as some registries write it, is read as well.
 */
export const INPUT_SCHEMA_EXTENSION = 'urn:pocket-agent:a2a:input-schema:1';

type Schema = Record<string, unknown>;

/** What is wrong with a value, or undefined. */
export type SchemaCheck = (schema: Schema, value: unknown) => Promise<string | undefined>;

interface CheckedCall {
  /** The party behind the schema; its checks wait for each other. */
  origin: string;
  signal: AbortSignal;
}

const MAX_UNUSABLE = 500;
/** A check can also fail because of the value or the load. */
const TRY_AGAIN_MS = 60_000;

export function schemaOf(card: CardJson, skill: Record<string, unknown> | undefined): Schema | undefined {
  const capabilities = isRecord(card.capabilities) ? card.capabilities : {};
  const extension = recordsIn(capabilities.extensions).find(({ uri }) => uri === INPUT_SCHEMA_EXTENSION);
  const params = isRecord(extension?.params) ? extension.params : {};
  const bySkill = isRecord(params.skills) && skill ? params.skills[String(skill.id)] : undefined;
  return [bySkill, skill?.inputSchema, params.inputSchema, card.inputSchema].find(isRecord);
}

interface SchemaCheckOptions {
  report(reason: string): void;
  now(): number;
}

/** An unusable schema is reported and then ignored for a while: the agent itself refuses what it cannot take. */
export function makeSchemaCheck({ report, now }: SchemaCheckOptions): (call: CheckedCall) => SchemaCheck {
  const ignoredUntil = new Map<string, number>();
  const isIgnored = (key: string) => now() < (ignoredUntil.get(key) ?? 0);
  return ({ origin, signal }) =>
    async (schema, value) => {
      const key = hash('sha256', JSON.stringify(schema));
      if (isIgnored(key)) return undefined;
      const verdict = await checkForeign({ schema, value, origin, signal });
      if ('fits' in verdict) return undefined;
      if ('problem' in verdict) return cleanLine(verdict.problem, 300);
      if (isIgnored(key)) return undefined; // a call that was checked at the same time has reported it
      const [oldest] = ignoredUntil.keys();
      if (ignoredUntil.size >= MAX_UNUSABLE && oldest !== undefined) ignoredUntil.delete(oldest);
      ignoredUntil.set(key, 'invalid' in verdict ? Number.POSITIVE_INFINITY : now() + TRY_AGAIN_MS);
      report(cleanLine('invalid' in verdict ? verdict.invalid : verdict.unchecked, 200));
      return undefined;
    };
}
