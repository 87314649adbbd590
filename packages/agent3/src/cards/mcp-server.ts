// MCP servers beside agents: a `server.json` of the MCP registry as a card, and as an entry of `mcpServers`.
import { isRecord, recordsIn } from '@pocket-agent/kit';
import type { z } from 'zod';
import { Agent3Error } from '../base/agent3-error.ts';
import type { CardJson } from '../base/agents.ts';
import {
  type argument,
  type input,
  type McpServerJson,
  mcpServer,
  type packaged,
  type remote,
} from '../base/mcp-server.ts';

export interface McpTool {
  name: string;
  title?: string | undefined;
  description?: string | undefined;
}

export const MCP_BINDING = 'MCP';

/** The server as a card: its remotes and packages are interfaces, its tools are skills. */
export function cardOfServer(server: McpServerJson, tools: readonly McpTool[]): CardJson {
  const { name, title, description, version, remotes = [], packages = [] } = server;
  const urls = [
    ...remotes.map(({ type, url }) => ({ url, tenant: type })),
    ...packages.map((one) => ({ url: packageUrl(one), tenant: 'stdio' })),
  ];
  return {
    name: title ?? name,
    description,
    version,
    supportedInterfaces: urls.map(({ url, tenant }) => ({
      url,
      tenant,
      protocolBinding: MCP_BINDING,
      protocolVersion: '1.0',
    })),
    capabilities: {},
    skills: tools.map((tool) => ({
      id: tool.name,
      name: tool.title ?? tool.name,
      description: tool.description ?? '',
      tags: [],
    })),
    mcpServer: server,
  };
}

/** Undefined for agents. */
export function serverOf(card: CardJson): McpServerJson | undefined {
  return isRecord(card.mcpServer) ? mcpServer.safeParse(card.mcpServer).data : undefined;
}

/** How the server is connected: streamable-http, sse or stdio. */
export function transportsOf(card: CardJson): string[] {
  return [...new Set(recordsIn(card.supportedInterfaces).map(({ tenant }) => String(tenant)))];
}

/** A package URL, such as pkg:npm/%40scope/name@1.0.0. */
function packageUrl({ registryType, identifier, version }: z.output<typeof packaged>): string {
  const name = identifier.split('/').map(encodeURIComponent).join('/');
  return `pkg:${registryType}/${name}${version === undefined ? '' : `@${encodeURIComponent(version)}`}`;
}

type Entry =
  | { type: 'http' | 'sse'; url: string; headers?: Record<string, string> }
  | { command: string; args: string[]; env?: Record<string, string> };

/**
 * The server as a file of a gateway or of any MCP client, by its short name. Values that a person must give are environment
 * variables such as `${API_KEY}`.
 */
export function mcpServersOf(server: McpServerJson): { mcpServers: Record<string, Entry> } {
  const short = server.name.split('/').at(-1) ?? server.name;
  const [first] = [...(server.remotes ?? [])].sort((a, b) => b.type.localeCompare(a.type));
  return { mcpServers: { [short]: first ? remoteEntry(first) : packageEntry(server) } };
}

function remoteEntry({ type, url, headers = [] }: z.output<typeof remote>): Entry {
  const values = valuesOf(headers);
  return { type: type === 'sse' ? 'sse' : 'http', url, ...(values ? { headers: values } : {}) };
}

function packageEntry({ name, packages = [] }: McpServerJson): Entry {
  for (const one of packages) {
    const launch = launchers[one.registryType];
    if (!launch || one.transport.type !== 'stdio') continue;
    const env = valuesOf(one.environmentVariables ?? []);
    const args = [...launch.args(one), ...(one.packageArguments ?? []).flatMap(argumentText)];
    return { command: launch.command, args, ...(env ? { env } : {}) };
  }
  const types = packages.map(({ registryType }) => registryType).join(', ');
  throw new Agent3Error(
    'INPUT_INVALID',
    `${name} has no remote address, and none of its packages (${types}) can be started with npx, uvx or docker; see its documentation`,
  );
}

interface Launcher {
  command: string;
  args(one: z.output<typeof packaged>): string[];
}

const launchers: Readonly<Record<string, Launcher | undefined>> = {
  npm: {
    command: 'npx',
    args: ({ identifier, version }) => ['-y', version === undefined ? identifier : `${identifier}@${version}`],
  },
  pypi: {
    command: 'uvx',
    args: ({ identifier, version }) => [version === undefined ? identifier : `${identifier}==${version}`],
  },
  oci: {
    command: 'docker',
    args: ({ identifier, version, environmentVariables = [], runtimeArguments = [] }) => [
      ...['run', '-i', '--rm'],
      ...environmentVariables.flatMap(({ name }) => (name === undefined ? [] : ['-e', name])),
      ...runtimeArguments.flatMap(argumentText),
      version === undefined || identifier.includes(':') ? identifier : `${identifier}:${version}`,
    ],
  },
};

/** A value that a person must give is written as `<name>`. */
function argumentText({
  type,
  name,
  value,
  default: initial,
  valueHint,
  isRequired,
}: z.output<typeof argument>): string[] {
  const text =
    value ?? initial ?? (isRequired || type === 'positional' ? `<${valueHint ?? name ?? 'value'}>` : undefined);
  if (type === 'named') return text === undefined ? [] : [name ?? '', text].filter((part) => part !== '');
  return text === undefined ? [] : [text];
}

/** Optional values without a default are left out. */
function valuesOf(inputs: readonly z.output<typeof input>[]): Record<string, string> | undefined {
  const pairs = inputs.flatMap(({ name, value, default: initial, isRequired }) => {
    if (name === undefined) return [];
    const variable = `\${${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}}`;
    const text = value?.replace(/\{[\w-]+\}/g, variable) ?? initial ?? (isRequired ? variable : undefined);
    return text === undefined ? [] : [[name, text]];
  });
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}
