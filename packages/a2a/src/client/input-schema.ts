// The JSON Schema that an agent declares for its input, and checks of messages against it.
import { hash } from 'node:crypto';
import { dropOldest, isRecord, recordsIn } from '@pocket-agent/kit';
import { checkForeign } from '@pocket-agent/schema';

/**
 * The A2A extension by which an agent declares the JSON it accepts, in `capabilities.extensions` of its card:
 * `{ uri, params: { inputSchema, skills: { [skillId]: inputSchema } } }`. The schema of a skill takes precedence.
 * An `inputSchema` directly in a skill or in the card, as some registries write it, is read as well.
 */
export const INPUT_SCHEMA_EXTENSION = 'urn:pocket-agent:a2a:input-schema:1';

type Schema = Record<string, unknown>;

/** Returns the problem of the value; undefined if it matches the schema. */
export type SchemaCheck = (schema: Schema, value: unknown) => Promise<string | undefined>;

interface CheckedCall {
  /** The party that wrote the schema; its checks run one after the other. */
  origin: string;
  signal: AbortSignal;
}

interface SchemaCheckOptions {
  /** Receives the reason why a schema cannot be used. */
  report(reason: string): void;
  now(): number;
}

const MAX_UNUSABLE = 500;
/** A check can also fail because of the value or the load of the machine. */
const RETRY_MS = 60_000;

/** The schema that a card declares for the input of a skill, or of the whole agent. */
export function inputSchemaOf(card: Schema, skill: Schema | undefined): Schema | undefined {
  const capabilities = isRecord(card.capabilities) ? card.capabilities : {};
  const extension = recordsIn(capabilities.extensions).find(({ uri }) => uri === INPUT_SCHEMA_EXTENSION);
  const params = isRecord(extension?.params) ? extension.params : {};
  const bySkill = isRecord(params.skills) && skill ? params.skills[String(skill.id)] : undefined;
  return [bySkill, skill?.inputSchema, params.inputSchema, card.inputSchema].find(isRecord);
}

/** An unusable schema is reported once and ignored for a while; the agent itself still refuses invalid input. */
export function makeSchemaCheck({ report, now }: SchemaCheckOptions): (call: CheckedCall) => SchemaCheck {
  const ignoredUntil = new Map<string, number>();
  const isIgnored = (key: string) => now() < (ignoredUntil.get(key) ?? 0);
  return ({ origin, signal }) =>
    async (schema, value) => {
      const key = hash('sha256', JSON.stringify(schema));
      if (isIgnored(key)) return undefined;
      const verdict = await checkForeign({ schema, value, origin, signal });
      if ('fits' in verdict) return undefined;
      if ('problem' in verdict) return verdict.problem;
      if (isIgnored(key)) return undefined; // reported by a concurrent call
      ignoredUntil.set(key, 'invalid' in verdict ? Number.POSITIVE_INFINITY : now() + RETRY_MS);
      dropOldest(ignoredUntil, MAX_UNUSABLE);
      report('invalid' in verdict ? verdict.invalid : verdict.unchecked);
      return undefined;
    };
}
