// The server under test: the fixtures of the conformance suite, served by the same `serveHttp` that serves agents.
import { McpServer } from '@modelcontextprotocol/server';
import { type HttpServer, serveHttp } from '../packages/pocket-agent/src/serve/http-server.ts';
import { addPrompts, addResources } from './fixture-documents.ts';
import { addInputRequiredTools, addQuestionTools, states } from './fixture-questions.ts';
import { addContentTools, addNotifyingTools } from './fixture-tools.ts';

/** Makes an McpServer with all fixtures. `httpServer` is for the tools that change lists. */
function makeServer(httpServer: () => HttpServer): McpServer {
  const server = new McpServer(
    { name: 'pocket-agent-conformance', version: '1.0.0' },
    {
      capabilities: { logging: {}, completions: {}, resources: { subscribe: true } },
      requestState: { verify: states.verify },
    },
  );
  addContentTools(server);
  addNotifyingTools(server, httpServer);
  addQuestionTools(server);
  addInputRequiredTools(server);
  addResources(server);
  addPrompts(server);
  return server;
}

/** Serves the fixtures on a free port. */
export async function startServer(): Promise<HttpServer> {
  let server: HttpServer | undefined;
  const httpServer = () => {
    if (!server) throw new Error('The HTTP server has not started yet.');
    return server;
  };
  server = await serveHttp(() => makeServer(httpServer));
  return server;
}
