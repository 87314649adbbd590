// Checks a request against the agent's card and converts it to the parts of a message.
import { inputSchemaOf, type Part, type SchemaCheck } from '@pocket-agent/a2a/client';
import { recordsIn, schemaIssuesText, stringsIn } from '@pocket-agent/kit';
import type { z } from 'zod';
import type { CardJson } from '../../base/agents.ts';
import { CallFailure } from '../../base/call-failure.ts';
import type { CallRequest } from '../../base/calls.ts';
import { isTooDeep, MAX_DEPTH } from '../../base/check-input.ts';
import { payloadOf } from './payload.ts';

/** Short names of media types that requests and cards use. */
const shortNames: Record<string, string> = {
  text: 'text/plain',
  json: 'application/json',
  data: 'application/json',
  structured: 'application/json',
};

/** Checks that do not need the agent's card. */
export function checkRequest(schema: z.ZodType, request: unknown): void {
  const { error } = schema.safeParse(request);
  if (error) throw invalid(schemaIssuesText(error.issues.slice(0, 5)));
}

export async function readInput(request: CallRequest, card: CardJson, check: SchemaCheck): Promise<Part[]> {
  const { message, files = [], skillId } = request;
  const skill = skillOf(card, skillId);
  const skillModes = stringsIn(skill?.inputModes);
  const modes = (skillModes.length > 0 ? skillModes : stringsIn(card.defaultInputModes)).map(normalize);
  const mode = normalize(request.inputMode ?? 'text/plain');
  const parts: Part[] = files.map(({ name, mediaType, base64 }) => ({ raw: base64, mediaType, filename: name }));
  const isAccepted = (type: string) => modes.length === 0 || modes.some((pattern) => matches(pattern, type));
  const schema = inputSchemaOf(card, skill);
  if (message.trim() !== '') {
    const part = messagePart(message, mode);
    const isUsable = isAccepted(mode) || (schema !== undefined && mode === 'text/plain');
    const payload = { schema: schema ?? {}, check, acceptsJson: isAccepted('application/json') };
    parts.unshift(schema && isUsable ? await payloadOf(part, payload) : part);
  }
  const refused = parts.map(({ mediaType = '' }) => normalize(mediaType)).find((type) => !isAccepted(type));
  if (refused !== undefined) throw invalid(`it accepts ${modes.join(', ')}, not ${refused}`);
  return parts;
}

function skillOf(card: CardJson, skillId: string | undefined): Record<string, unknown> | undefined {
  if (skillId === undefined) return undefined;
  const skills = recordsIn(card.skills);
  const skill = skills.find(({ id }) => id === skillId);
  if (skill) return skill;
  const known = skills.map(({ id }) => String(id)).slice(0, 20);
  throw invalid(`it has no skill "${skillId}"; its card lists ${known.join(', ') || 'no skills'}`);
}

function messagePart(message: string, mode: string): Part {
  if (mode === 'application/json') {
    const data = parseJson(message);
    if (isTooDeep(data)) throw invalid(`the message is nested more than ${MAX_DEPTH} levels deep`);
    return { data, mediaType: mode };
  }
  if (!mode.startsWith('text/') && !/^application\/[\w.-]*\+?(?:json|xml|yaml|markdown)$/.test(mode))
    throw invalid(`a message cannot be ${mode}. Send that as a file, or the message as text/plain`);
  return { text: message, mediaType: mode };
}

function parseJson(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    throw invalid('inputMode is application/json, but the message is not valid JSON');
  }
}

function normalize(mode: string): string {
  const name = (mode.split(';')[0] ?? '').trim().toLowerCase();
  return shortNames[name] ?? name;
}

function matches(pattern: string, mode: string): boolean {
  if (pattern === '*' || pattern === '*/*') return true;
  return pattern.endsWith('/*') ? mode.startsWith(pattern.slice(0, -1)) : pattern === mode;
}

function invalid(message: string): CallFailure {
  return new CallFailure('INPUT_INVALID', `${message}.`);
}
