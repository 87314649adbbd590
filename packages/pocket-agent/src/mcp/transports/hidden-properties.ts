// Hides the properties of tool schemas from the SDK. In the 2025 era it checks each value in them, although they come from
// JSON; for a long list that would block the event loop for most of a second.
import type { JSONRPCMessage, Tool } from '@modelcontextprotocol/client';
import { isRecord } from '@pocket-agent/kit';

/** The SDK passes on the value of an unknown keyword without a look at it. */
const HIDDEN = 'pocket-agent/properties';

/** The message; in a list of tools, the properties of schemas are hidden. */
export function withoutProperties(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message) || 'content' in message.result || !Array.isArray(message.result.tools)) return message;
  const { tools } = message.result;
  return { ...message, result: { ...message.result, tools: tools.map((tool) => changed(tool, hide)) } };
}

/** A tool as the server listed it. */
export function withProperties(tool: Tool): Tool {
  return changed(tool, show) as Tool;
}

function changed(tool: unknown, change: (schema: unknown) => unknown): unknown {
  if (!isRecord(tool)) return tool;
  const { inputSchema, outputSchema } = tool;
  const output = outputSchema === undefined ? {} : { outputSchema: change(outputSchema) };
  return { ...tool, inputSchema: change(inputSchema), ...output };
}

function hide(schema: unknown): unknown {
  if (!isRecord(schema)) return schema;
  const { properties, [HIDDEN]: _, ...others } = schema;
  if (properties === undefined) return others;
  return isRecord(properties) ? { ...others, [HIDDEN]: properties } : { ...others, properties };
}

/** In the order that the SDK gives the keywords: fingerprints depend on it. */
function show(schema: unknown): unknown {
  if (!isRecord(schema) || !(HIDDEN in schema)) return schema;
  const { type, [HIDDEN]: properties, ...others } = schema;
  return { type, properties, ...others };
}
