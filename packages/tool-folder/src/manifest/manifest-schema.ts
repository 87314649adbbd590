// The schema of manifest.yaml, for reading it, for problem texts and for editors.
import { capabilities, exposures } from 'pocket-agent/internal';
import { z } from 'zod';
import { describedSchema, type Path } from './described-schema.ts';

export const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const humanName = () => z.string().min(1).describe('a name for users, for example "Multiplication Tool"');
const environmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/)
  .describe('the name of an environment variable, for example GITHUB_TOKEN');

const annotations = z
  .strictObject({
    title: z.string().describe('a title for users').optional(),
    readOnlyHint: z.boolean().describe('true or false: the tool changes nothing').optional(),
    destructiveHint: z.boolean().describe('true or false: the tool may destroy something').optional(),
    idempotentHint: z
      .boolean()
      .describe('true or false: a second call with the same arguments has no further effect')
      .optional(),
    openWorldHint: z.boolean().describe('true or false: the tool reaches external systems').optional(),
  })
  .describe('the MCP annotations: title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint');

const tool = z
  .strictObject({
    name: z
      .string()
      .regex(TOOL_NAME)
      .describe('a name of 1 to 64 letters, digits, _ and -; the method is tool_<name> or <name>'),
    description: z.string().min(1).describe('a description for the model: what the tool does and when to use it'),
    parameters: z
      .record(z.string(), z.unknown())
      .meta({ allOf: [{ $ref: 'http://json-schema.org/draft-07/schema#' }] })
      .describe('a JSON Schema for an object (2020-12, or the draft in its $schema)')
      .optional(),
    annotations: annotations.optional(),
    capability: z
      .enum(capabilities)
      .describe(`one of ${capabilities.join(', ')}`)
      .optional(),
  })
  .describe('a tool: a mapping with name, description and parameters');

const environmentEntry = z
  .union([
    environmentName,
    z.strictObject({
      name: environmentName,
      optional: z.boolean().describe('true or false: the folder also works without it').optional(),
      description: z.string().describe('what the variable is for').optional(),
    }),
  ])
  .describe('the name of an environment variable, or a mapping with name, optional and description');

// readMcpConfig checks the rest
const server = z
  .looseObject({
    command: z.string().describe('a program to start').optional(),
    args: z.array(z.string().describe('a string')).describe('a list of strings').optional(),
    env: z.record(z.string(), z.string().describe('a string')).describe('a mapping of names to strings').optional(),
    cwd: z.string().describe('a folder; default: the tool folder').optional(),
    url: z.string().describe('the URL of a remote server').optional(),
    headers: z.record(z.string(), z.string().describe('a string')).describe('a mapping of names to strings').optional(),
    type: z.string().describe('http, streamable-http or sse').optional(),
    disabled: z.boolean().describe('true or false').optional(),
  })
  .describe('an MCP server as in mcpServers: a mapping with command or url');

const manifestSchema = z
  .strictObject({
    tool_human_name: humanName().optional(),
    tool_name: humanName().optional(),
    tool_list: z.array(tool).describe('a list of tools, each with name, description and parameters').optional(),
    exposure: z
      .enum(exposures)
      .describe(`one of ${exposures.join(', ')}`)
      .optional(),
    env: z.array(environmentEntry).describe('a list of names of environment variables').optional(),
    mcp_servers: z.record(z.string(), server).describe('a mapping of names to MCP servers').optional(),
  })
  .describe('a mapping with tool_human_name and tool_list');

export type Manifest = z.infer<typeof manifestSchema>;

/** The JSON Schema for completion in editors. A test keeps the copy in `manifest.schema.json` up to date. */
export function manifestJsonSchema(): Record<string, unknown> {
  return { title: 'Tool folder manifest', ...z.toJSONSchema(manifestSchema, { target: 'draft-7' }) };
}

/** Headers and variables of an MCP server may contain secrets. */
const isSecret = (path: Path) => path[0] === 'mcp_servers' && path.length > 2;

export const describedManifest = describedSchema(manifestSchema, isSecret);
