// The schema of `server.json`, by which MCP registries describe MCP servers.
import { z } from 'zod';

export const input = z.looseObject({
  name: z.string().optional(),
  value: z.string().optional(),
  default: z.string().optional(),
  isRequired: z.boolean().optional(),
});
export const argument = z.looseObject({ ...input.shape, type: z.string(), valueHint: z.string().optional() });
export const remote = z.looseObject({
  type: z.enum(['streamable-http', 'sse']),
  url: z.url({ protocol: /^https?$/ }).max(2_000),
  headers: z.array(input).max(50).optional(),
});
export const packaged = z.looseObject({
  registryType: z.string().regex(/^[a-z0-9-]{1,30}$/),
  identifier: z.string().min(1).max(500),
  version: z.string().max(255).optional(),
  transport: z.looseObject({ type: z.string() }),
  environmentVariables: z.array(input).max(100).optional(),
  runtimeArguments: z.array(argument).max(100).optional(),
  packageArguments: z.array(argument).max(100).optional(),
});

export const mcpServer = z
  .looseObject({
    name: z
      .string()
      .regex(/^[\w.-]+\/[\w.-]+$/, { error: 'must be like io.github.user/weather' })
      .max(200),
    title: z.string().max(100).optional(),
    description: z.string().max(4_000),
    version: z.string().min(1).max(255),
    remotes: z.array(remote).max(10).optional(),
    packages: z.array(packaged).max(10).optional(),
  })
  .refine(({ remotes = [], packages = [] }) => remotes.length + packages.length > 0, {
    error: 'needs remotes or packages',
  })
  .describe('The server.json of an MCP server, as in the MCP registry');
/** The `server.json` of an MCP server, as in the MCP registry. */
export type McpServerJson = z.output<typeof mcpServer>;
