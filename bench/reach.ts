// Who the contenders are: their versions, and how each reaches an MCP server of its own process.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { everybody, isInstalled, packagesOf, peerFolder, peers, us } from './contenders.ts';

interface Reach {
  transport: string;
  revision: string;
  client: string;
}

const root = fileURLToPath(new URL('../', import.meta.url));
const sdk = () => installedAt(root, '@modelcontextprotocol/client');

/** What it negotiated with the same server; nobody is held to a revision. */
const reaches: Record<string, () => Reach> = {
  'mcp-sdk': () => ({ transport: 'linked in memory', revision: '2025-11-25', client: sdk() }),
  [us]: () => ({ transport: 'linked in memory', revision: '2025-11-25', client: `its own, over ${sdk()}` }),
  ai: () => ({ transport: 'linked in memory', revision: '2025-11-25', client: 'its own (@ai-sdk/mcp)' }),
  'openai-agents': () => ({
    transport: 'linked in memory, behind its `MCPServer` (it has no such transport)',
    revision: '2025-11-25',
    client: sdk(),
  }),
  mastra: () => ({
    transport: 'HTTP whose `fetch` is the server (it has no other in process)',
    revision: '2026-07-28',
    client: `its own, over ${installedAt(peerFolder('mastra'), '@modelcontextprotocol/client')}`,
  }),
  langchain: () => ({
    transport: 'linked in memory',
    revision: '2025-11-25',
    client: `its adapters, over ${installedAt(peerFolder('langchain'), '@modelcontextprotocol/sdk')}`,
  }),
};

export function contendersTable(): string {
  const rows = everybody
    .filter((name) => !peers.includes(name) || isInstalled(name))
    .map((name) => {
      const { transport, revision, client } = reaches[name]?.() ?? { transport: '—', revision: '—', client: '—' };
      return [name, versionsOf(name), transport, revision, client];
    });
  const head = ['', 'what it is', 'MCP in process', 'revision', 'client'];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function versionsOf(name: string): string {
  if (peers.includes(name)) return packagesOf(name).join(', ');
  if (name === us) return installedAt(root, 'pocket-agent');
  return name === 'mcp-sdk' ? `the same loop over ${sdk()}` : 'a hand-written loop';
}

function installedAt(folder: string, name: string): string {
  const { version } = JSON.parse(readFileSync(`${folder}node_modules/${name}/package.json`, 'utf8'));
  return `${name}@${version}`;
}
