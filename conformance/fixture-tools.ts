// Fixtures of the conformance suite: tools that return every kind of content, write logs, report progress and change lists.
import { fromJsonSchema, type JsonSchemaType, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { delay } from '../packages/kit/src/base/abort.ts';
import type { HttpServer } from '../packages/pocket-agent/src/serve/http-server.ts';

export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

export const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

export function addContentTools(server: McpServer): void {
  const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' };
  const resource = (uri: string, mimeType: string, content: string) => ({
    type: 'resource' as const,
    resource: { uri, mimeType, text: content },
  });
  server.registerTool('test_simple_text', { description: 'Returns text' }, () =>
    text('This is a simple text response for testing.'),
  );
  server.registerTool('test_image_content', { description: 'Returns an image' }, () => ({ content: [image] }));
  server.registerTool('test_audio_content', { description: 'Returns a sound' }, () => ({
    content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  }));
  server.registerTool('test_embedded_resource', { description: 'Returns a resource' }, () => ({
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }));
  server.registerTool('test_multiple_content_types', { description: 'Returns several kinds of content' }, () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }));
  server.registerTool('test_error_handling', { description: 'Always fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Tool with JSON Schema 2020-12 features', inputSchema: fromJsonSchema(richSchema) },
    () => text('ok'),
  );
  server.registerTool(
    'test_header_parameters',
    { description: 'Has a parameter that clients send as a header', inputSchema: fromJsonSchema(headerSchema) },
    (args) => text(JSON.stringify(args)),
  );
}

const richSchema: JsonSchemaType = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

const regionParameter = { type: 'string' as const, 'x-mcp-header': 'Region' };
const headerSchema: JsonSchemaType = {
  type: 'object',
  properties: { region: regionParameter, query: { type: 'string' } },
};

export function addNotifyingTools(server: McpServer, httpServer: () => HttpServer): void {
  const log = async (context: ServerContext) => {
    await context.mcpReq.log('info', 'Tool execution started');
    await delay(50, context.mcpReq.signal);
    await context.mcpReq.log('info', 'Tool processing data');
    await delay(50, context.mcpReq.signal);
    await context.mcpReq.log('info', 'Tool execution completed');
    return text('Logged three lines.');
  };
  server.registerTool('test_tool_with_logging', { description: 'Logs while it runs' }, log);
  server.registerTool('test_logging_tool', { description: 'Logs while it runs' }, log);
  server.registerTool('test_tool_with_progress', { description: 'Reports progress while it runs' }, async (context) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100 };
        await context.mcpReq.notify({ method: 'notifications/progress', params });
      }
      await delay(50, context.mcpReq.signal);
    }
    return text('Reported progress.');
  });
  server.registerTool('test_trigger_tool_change', { description: 'Announces a changed list of tools' }, () => {
    httpServer().listChanged('tools');
    return text('Announced.');
  });
  server.registerTool('test_trigger_prompt_change', { description: 'Announces a changed list of prompts' }, () => {
    httpServer().listChanged('prompts');
    return text('Announced.');
  });
}
