// Warns of capabilities that have no effect: of tools that a server does not list, and unknown ones that its tools claim.
import type { Tool } from '@modelcontextprotocol/client';
import { describeAvailable, type Logger, warnOnce } from '@pocket-agent/kit';
import { type Capability, expectedCapability, isCapability } from './capabilities.ts';

interface ListedTools {
  server: string;
  /** As the server lists them; an unavailable server lists none. */
  tools: readonly Tool[];
  /** The configured capabilities, by tool. */
  capabilities: Readonly<Record<string, Capability>> | undefined;
  logger: Logger;
  /** Warnings are limited, and one server must not use up those of another. */
  about: object;
}

/** Warns of each problem once. */
export function warnOfCapabilities({ server, tools, capabilities = {}, ...warning }: ListedTools): void {
  if (tools.length === 0) return;
  const names = tools.map(({ name }) => name);
  for (const named of Object.keys(capabilities)) {
    if (names.includes(named)) continue;
    const text = `mcpServers.${server}.capabilities names a tool "${named}", which the server does not list.`;
    warnOnce({ ...warning, key: `${server} ${named}`, text: () => `${text} ${describeAvailable(named, names)}` });
  }
  for (const { name, _meta: meta } of tools) {
    const claimed = meta?.capability;
    if (typeof claimed !== 'string' || isCapability(claimed)) continue;
    const text = () => {
      const problem = `"${claimed.slice(0, 100)}" of its tool "${name}" is not ${expectedCapability(claimed)}`;
      return `MCP server "${server}": the capability ${problem}, so the tool counts as delete.`;
    };
    warnOnce({ ...warning, key: `${server} ${name} ${claimed}`, text });
  }
}
