// `agent3 import`, `agent3 export` and `agent3 gateway`: exchange with other registries and with gateways.
import { Agent3Error } from '../base/agent3-error.ts';
import { cleanText } from '../base/clean-text.ts';
import { catalogOf, serverListOf } from '../cards/catalog.ts';
import { mcpServersOf, serverOf } from '../cards/mcp-server.ts';
import { importAgents } from '../hub/import.ts';
import { readSettings } from '../hub/options.ts';
import { numberOf, readArguments } from './arguments.ts';
import { withAgent3 } from './with-agent3.ts';

const PAGE = 1_000;

export async function importCommand(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments({
    args: [...args],
    allowPositionals: true,
    options: { limit: { type: 'string' } },
  });
  const [source, ...more] = positionals;
  if (source === undefined || more.length > 0)
    throw new Agent3Error('INPUT_INVALID', 'Give one URL or file: agent3 import https://registry.example/v0.1/servers');
  const limit = numberOf('--limit', values.limit);
  const { allowHosts } = readSettings(process.env);
  return withAgent3(async (agent3, caller) => {
    const options = { agent3, caller, allowHosts, ...(limit === undefined ? {} : { limit }) };
    const { registered, skipped } = await importAgents(source, options);
    for (const { name, reason } of skipped) process.stderr.write(cleanText(`skipped ${name}: ${reason}\n`));
    process.stderr.write(`${registered.length} imported, ${skipped.length} skipped\n`);
    process.stdout.write(registered.map((id) => `${id}\n`).join(''));
    return registered.length === 0 && skipped.length > 0 ? 1 : 0;
  });
}

export async function exportCommand(args: readonly string[]): Promise<number> {
  const { values } = readArguments({ args: [...args], options: { format: { type: 'string', default: 'a2a' } } });
  const { format } = values;
  if (format !== 'a2a' && format !== 'mcp')
    throw new Agent3Error('INPUT_INVALID', '--format must be a2a (AI catalog) or mcp (MCP registry)');
  return withAgent3(async (agent3, caller) => {
    const agents = [];
    let cursor: string | undefined;
    do {
      const page = await agent3.list({ limit: PAGE, cursor, ...(format === 'mcp' ? { kind: 'mcp' } : {}) }, caller);
      agents.push(...page.agents);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const hub = new URL(process.env.AGENT3_HUB_URL ?? process.env.AGENT3_PUBLIC_URL ?? 'http://localhost/');
    const document = format === 'mcp' ? serverListOf({ agents }) : catalogOf({ agents }, hub, '/api/catalog');
    process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
    return 0;
  });
}

export async function gatewayCommand(args: readonly string[]): Promise<number> {
  const { positionals } = readArguments({ args: [...args], allowPositionals: true, options: {} });
  if (positionals.length === 0)
    throw new Agent3Error('INPUT_INVALID', 'Give one or more MCP servers: agent3 gateway ID... > gateway.json');
  return withAgent3(async (agent3, caller) => {
    const mcpServers = {};
    for (const id of positionals) {
      const { card } = await agent3.invoke(id, caller);
      const server = serverOf(card);
      if (!server) throw new Agent3Error('INPUT_INVALID', `${id} is an agent and no MCP server: agent3 call ${id} "…"`);
      for (const [name, entry] of Object.entries(mcpServersOf(server).mcpServers))
        Object.assign(mcpServers, { [name in mcpServers ? id : name]: entry });
    }
    process.stdout.write(`${JSON.stringify({ mcpServers }, null, 2)}\n`);
    return 0;
  });
}
