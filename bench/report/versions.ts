// A table of the contenders: their versions, and how each connects to an MCP server in its own process.
import { fileURLToPath } from 'node:url';
import {
  allContenders,
  installedIn,
  isInstalled,
  loopPeers,
  packagesOf,
  peerFolder,
  sdk,
  us,
} from '../contenders/contenders.ts';

interface McpAccess {
  transport: string;
  client: string;
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const bareClient = () => installedIn(root, '@modelcontextprotocol/client');

const mcpAccess: Record<string, () => McpAccess> = {
  [sdk]: () => ({ transport: 'linked in memory', client: bareClient() }),
  [us]: () => ({ transport: 'linked in memory', client: `its own, over ${bareClient()}` }),
  ai: () => ({ transport: 'linked in memory', client: 'its own (@ai-sdk/mcp)' }),
  generateText: () => ({ transport: 'linked in memory', client: 'its own (@ai-sdk/mcp)' }),
  'openai-agents': () => ({
    transport: 'linked in memory, behind its `MCPServer` (it has no such transport)',
    client: bareClient(),
  }),
  mastra: () => ({
    transport: 'HTTP whose `fetch` is the server (it has no other in process)',
    client: `its own, over ${installedIn(peerFolder('mastra'), '@modelcontextprotocol/client')}`,
  }),
  langchain: () => ({
    transport: 'linked in memory',
    client: `its adapters, over ${installedIn(peerFolder('langchain'), '@modelcontextprotocol/sdk')}`,
  }),
  voltagent: () => ({
    transport: 'HTTP by a global `fetch` that is the server (it has no other in process)',
    client: `its own, over ${installedIn(peerFolder('voltagent'), '@modelcontextprotocol/sdk')}`,
  }),
};

/** With the MCP revision that each used. */
export function contendersTable(revisions: ReadonlyMap<string, string>): string {
  const rows = allContenders.filter(isInstalled).map((name) => {
    const { transport, client } = mcpAccess[name]?.() ?? { transport: '—', client: '—' };
    return [name, versionsOf(name), transport, revisions.get(name) ?? '—', client];
  });
  const head = ['', 'what it is', 'MCP in process', 'revision', 'client'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

export function versionsOf(name: string): string {
  if (loopPeers.includes(name)) return packagesOf(name).join(', ');
  if (name === us) return installedIn(root, 'pocket-agent');
  return name === sdk ? bareClient() : 'a hand-written loop';
}
