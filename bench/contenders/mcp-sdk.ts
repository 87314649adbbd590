// The floor for MCP: the hand-written loop with the bare client of the official SDK.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { linkedClient } from '../servers/in-process.ts';
import { type Contender, textOfResult } from './contender.ts';
import { type Call, handLoop } from './hand-loop.ts';

export const contender: Omit<Contender, 'inProcess'> = {
  async throughMcp(job) {
    const client = await linkedClient(job.tools);
    const { tools } = await client.listTools();
    const definitions = tools.map(({ name, description = '', inputSchema }) => ({ name, description, inputSchema }));
    const call: Call = async (name, args) => textOfResult(await client.callTool({ name, arguments: args }));
    return { ...handLoop({ job, definitions, call }), close: () => client.close() };
  },
  async connect(endpoint) {
    const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const transport =
      'url' in endpoint ? new StreamableHTTPClientTransport(new URL(endpoint.url)) : new StdioClientTransport(endpoint);
    await client.connect(transport);
    await client.listTools();
    return {
      call: async (a, b) => textOfResult(await client.callTool({ name: 'add', arguments: { a, b } })),
      close: () => client.close(),
    };
  },
};
