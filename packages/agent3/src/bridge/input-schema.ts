// The JSON schema an agent declares for its input, made safe to check against: it comes from a stranger.
import { hash } from 'node:crypto';
import type { JsonSchemaType } from '@modelcontextprotocol/server';
import type { CardJson } from '../types.ts';
import { cleanLine } from './clean-text.ts';
import { isRecord, recordsIn } from './wire.ts';

/**
 * The extension of A2A with which an agent says what JSON it takes, in `capabilities.extensions` of its card:
 * `{ uri, params: { inputSchema, skills: { [skillId]: inputSchema } } }`. A skill's own schema goes before that of all.
 * An `inputSchema` straight in a skill or in the card, as some registries write it, is read as well.
 */
export const INPUT_SCHEMA_EXTENSION = 'urn:pocket-agent:a2a:input-schema:1';

type Schema = Record<string, unknown>;

/** What is wrong with a value, or undefined. */
export type SchemaCheck = (schema: Schema, value: unknown) => Promise<string | undefined>;

type Check = (value: unknown) => string | undefined;

const MOST_NODES = 5000;
const MOST_KNOWN = 500;
/** Patterns of strangers can take for ever to match. */
const ignored = new Set([
  'pattern',
  'patternProperties',
  'format',
  '$id',
  'id',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
]);

export function schemaOf(card: CardJson, skill: Record<string, unknown> | undefined): Schema | undefined {
  const capabilities = isRecord(card.capabilities) ? card.capabilities : {};
  const extension = recordsIn(capabilities.extensions).find(({ uri }) => uri === INPUT_SCHEMA_EXTENSION);
  const params = isRecord(extension?.params) ? extension.params : {};
  const bySkill = isRecord(params.skills) && skill ? params.skills[String(skill.id)] : undefined;
  return [bySkill, skill?.inputSchema, params.inputSchema, card.inputSchema].find(isRecord);
}

/** A schema that cannot be used is told of once and checks nothing: the agent will say what it thinks itself. */
export function makeSchemaCheck(unusable: (reason: string) => void): SchemaCheck {
  const known = new Map<string, Check>();
  return async (schema, value) => {
    const key = hash('sha256', JSON.stringify(schema));
    let check = known.get(key);
    if (!check) {
      try {
        check = await compile(schema);
      } catch (error) {
        unusable(cleanLine(error instanceof Error ? error.message : String(error), 200));
        check = () => undefined;
      }
      const [oldest] = known.keys();
      if (known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest);
      known.set(key, check);
    }
    return check(value);
  };
}

async function compile(schema: Schema): Promise<Check> {
  const { CfWorkerJsonSchemaValidator } = await import('@modelcontextprotocol/server/validators/cf-worker');
  const validate = new CfWorkerJsonSchemaValidator().getValidator<unknown>(inlined(schema) as JsonSchemaType);
  return (value) => {
    const result = validate(value);
    return result.valid ? undefined : cleanLine(result.errorMessage, 300);
  };
}

/** Without references and patterns, and of a bounded size: so the time a check takes is bounded too. */
function inlined(root: Schema): unknown {
  let count = 0;
  const copy = (value: unknown, depth: number): unknown => {
    if (++count > MOST_NODES || depth > 100) throw new Error('the schema is too large, or refers to itself');
    if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1));
    if (!isRecord(value)) return value;
    const { $ref, ...rest } = value;
    if (typeof $ref === 'string') return copy({ ...resolve(root, $ref), ...rest }, depth + 1);
    const kept = Object.entries(rest).filter(
      ([name]) => !ignored.has(name) && name !== '$defs' && name !== 'definitions',
    );
    return Object.fromEntries(kept.map(([name, item]) => [name, copy(item, depth + 1)]));
  };
  return copy(root, 0);
}

function resolve(root: Schema, reference: string): Schema {
  if (!reference.startsWith('#')) throw new Error('the schema refers to another document');
  let found: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    found = isRecord(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  if (!isRecord(found)) throw new Error('the schema refers to something that is not there');
  return found;
}
