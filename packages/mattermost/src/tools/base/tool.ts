// Defines a tool: arguments, description for clients, and implementation.
import type { CallToolResult, StandardSchemaWithJSON, ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ToolContext } from '../../account/account.ts';
import type { Capability } from '../../base/access.ts';
import type { ToolGroup } from '../../base/tool-groups.ts';
import { argumentsText } from './arguments-text.ts';
import type { JsonSchema } from './schemas.ts';
import { id } from './schemas.ts';

/** What a call does: only reads; has the same effect when repeated; adds data; destroys data. */
type Effect = 'read' | 'idempotent' | 'additive' | 'destructive';

const annotationsOf: Readonly<Record<Effect, ToolAnnotations>> = {
  read: { readOnlyHint: true, idempotentHint: true },
  idempotent: { destructiveHint: false, idempotentHint: true },
  additive: { destructiveHint: false },
  destructive: { destructiveHint: true },
};

interface ToolDefinition<Shape extends z.ZodRawShape> {
  name: string;
  title: string;
  description: string;
  capability: Capability;
  effect: Effect;
  tags: readonly string[];
  /** False for a tool that clients can call but do not see in the list. */
  isListed?: boolean;
  /** Listed only if this group was requested. */
  group?: ToolGroup;
  input: Shape;
  /** Adds the argument `team_id`, optional if a default team is configured. */
  hasTeam?: boolean;
  /** Checks combinations of arguments; returns an error message. */
  check?(args: z.output<z.ZodObject<Shape>>): string | undefined;
  output: JsonSchema;
  run(args: ToolArguments<Shape>, context: ToolContext): Promise<object>;
}

type ToolArguments<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>> & { team_id?: string | undefined };

export interface Tool {
  name: string;
  title: string;
  description: string;
  capability: Capability;
  isListed: boolean;
  group: ToolGroup | undefined;
  annotations: ToolAnnotations;
  /** `exposure` tells Pocket Agent that its model should find the tool with `find_tools`. */
  meta: { capability: Capability; tags: readonly string[]; exposure?: 'deferred' };
  inputSchema(hasDefaultTeam: boolean): StandardSchemaWithJSON<unknown, unknown>;
  outputSchema: StandardSchemaWithJSON<unknown, unknown>;
  run(args: unknown, context: ToolContext): Promise<CallToolResult>;
}

/** A result with its own content blocks, such as an image. */
export class ContentResult {
  readonly content: CallToolResult['content'];
  readonly structured: Record<string, unknown>;

  constructor(content: CallToolResult['content'], structured: Record<string, unknown>) {
    this.content = content;
    this.structured = structured;
  }
}

export function defineTool<Shape extends z.ZodRawShape>(definition: ToolDefinition<Shape>): Tool {
  const { name, title, description, capability, effect, tags, group } = definition;
  const { isListed = true, hasTeam = false, check } = definition;
  const plain = z.strictObject({ ...(hasTeam ? { team_id: id().optional() } : {}), ...definition.input });
  const schema = plain.superRefine((args, issues) => {
    const problem = check?.(args as z.output<z.ZodObject<Shape>>);
    if (problem !== undefined) issues.addIssue({ code: 'custom', message: problem });
    if (hasNul(args)) issues.addIssue({ code: 'custom', message: NUL });
  });
  const listed = listedSchema(plain);
  const required = Array.isArray(listed.required) ? listed.required : [];
  const withoutDefault = hasTeam ? { ...listed, required: ['team_id', ...required] } : listed;
  return {
    name,
    title,
    description,
    capability,
    isListed,
    group,
    annotations: annotationsOf[effect],
    meta: { capability, tags: ['mattermost', ...tags], ...(group ? { exposure: 'deferred' } : {}) },
    inputSchema: (hasDefaultTeam) =>
      toStandardSchema(hasDefaultTeam ? listed : withoutDefault, (value) =>
        readArguments({ name, schema, listed: hasDefaultTeam ? listed : withoutDefault, value: value ?? {} }),
      ),
    outputSchema: toStandardSchema(definition.output, (value) => ({ value })),
    async run(args, context) {
      const result = await definition.run(args as ToolArguments<Shape>, context);
      if (result instanceof ContentResult) return { content: result.content, structuredContent: result.structured };
      return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: { ...result } };
    },
  };
}

const NUL = 'strings must not contain NUL characters (U+0000), which Mattermost cannot store';

function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  return typeof value === 'object' && value !== null && Object.values(value).some(hasNul);
}

interface Issue {
  message: string;
}

interface ArgumentCheck {
  name: string;
  schema: z.ZodType;
  listed: JsonSchema;
  value: unknown;
}

function readArguments({ name, schema, listed, value }: ArgumentCheck): { value: unknown } | { issues: Issue[] } {
  const { success, data, error } = schema.safeParse(value);
  return success ? { value: data } : { issues: [{ message: argumentsText(error.issues, { name, listed, value }) }] };
}

/** Converted once, because a server is created per connection, in the 2026 protocol even per request. */
function listedSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...listed } = z.toJSONSchema(schema, { io: 'input', reused: 'inline' });
  return listed;
}

function toStandardSchema(
  json: JsonSchema,
  validate: (value: unknown) => { value: unknown } | { issues: Issue[] },
): StandardSchemaWithJSON<unknown, unknown> {
  const listed = { ...json };
  return {
    '~standard': {
      version: 1,
      vendor: 'mattermost',
      validate,
      jsonSchema: { input: () => listed, output: () => listed },
    },
  };
}
