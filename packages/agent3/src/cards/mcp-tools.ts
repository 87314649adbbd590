// Lists the tools of an MCP server, so that it is found by what it can do. Servers that need a login are listed without tools.
import type { HttpFetch } from '@pocket-agent/http/fetch';
import { VERSION } from '@pocket-agent/kit';
import type { McpServerJson } from '../base/mcp-server.ts';
import type { McpTool } from './mcp-server.ts';

const MAX_TOOLS = 200;
const MAX_LENGTH = 2_000;

export interface FoundServer {
  name: string;
  title: string | undefined;
  version: string;
  instructions: string | undefined;
  tools: McpTool[];
}

interface Connection {
  fetch: HttpFetch;
  timeoutMs: number;
}

/** Connects over streamable HTTP, without credentials. */
export async function readMcpServer(url: string, { fetch, timeoutMs }: Connection): Promise<FoundServer> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const client = new Client({ name: 'agent3', version: VERSION }, { versionNegotiation: { mode: 'auto' } });
  try {
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      fetch: (target, init) => fetch(target instanceof URL ? target : new URL(target), init),
    });
    await client.connect(transport, { timeout: timeoutMs });
    const { tools } = await client.listTools(undefined, { timeout: timeoutMs });
    const { name = '', title, version = '' } = client.getServerVersion() ?? {};
    return {
      name,
      title,
      version,
      instructions: client.getInstructions()?.slice(0, MAX_LENGTH),
      tools: tools.slice(0, MAX_TOOLS).map((tool) => ({
        name: tool.name.slice(0, MAX_LENGTH),
        title: tool.title?.slice(0, MAX_LENGTH),
        description: tool.description?.slice(0, MAX_LENGTH),
      })),
    };
  } finally {
    await client.close().catch(() => {}); // the server may be gone
  }
}

/** A server.json for a server that was registered by its address only. The name is made of its host and its own name. */
export function serverJsonOf(url: string, { name, title, version, instructions, tools }: FoundServer): McpServerJson {
  const { hostname } = new URL(url);
  const host = hostname
    .replaceAll(/[[\]:]/g, '-')
    .split('.')
    .reverse()
    .join('.');
  const short = name.replaceAll(/[^\w.-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'server';
  const what = tools.map((tool) => tool.title ?? tool.name).join(', ');
  return {
    name: `${host}/${short}`.slice(0, 200),
    ...(title === undefined ? {} : { title: title.slice(0, 100) }),
    description:
      instructions ??
      (what === '' ? `MCP server at ${hostname}` : `MCP server with the tools ${what}`).slice(0, MAX_LENGTH),
    version: version || '0',
    remotes: [{ type: 'streamable-http', url }],
  };
}
