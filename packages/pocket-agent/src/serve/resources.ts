// Serves resources over MCP: resources/list, resources/templates/list and resources/read.
import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isPublicError } from '@pocket-agent/kit';

/** Resources under the rules of a caller. */
export interface ResourceService<Caller> {
  list(caller: Caller): Promise<Resource[]>;
  templates(): Promise<readonly ResourceTemplateType[]>;
  /** Undefined if there is no such resource for this caller. */
  read(uri: string, caller: Caller): Promise<ReadResourceResult | undefined>;
}

export function serveResources<Caller>(
  server: Server,
  resources: ResourceService<Caller>,
  callerOf: (context: ServerContext) => Caller,
): void {
  server.registerCapabilities({ resources: {} });
  server.setRequestHandler('resources/list', async (_request, context) => ({
    resources: await resources.list(callerOf(context)),
  }));
  server.setRequestHandler('resources/templates/list', async () => ({
    resourceTemplates: [...(await resources.templates())],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const contents = await resources.read(uri, callerOf(context)).catch((error: unknown) => {
      const reason = isPublicError(error) ? error.message : 'it cannot be read.';
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource ${uri}: ${reason}`);
    });
    if (contents) return contents;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource ${uri} not found`);
  });
}
