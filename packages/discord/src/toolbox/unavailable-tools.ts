// Explains why chosen tools are missing: the server is unreachable, or the user's profile excludes them.
import type { FolderState } from '@pocket-agent/tool-folder';
import { type Capability, capabilityOf, type PocketAgentClient, type ProfileName, profiles } from 'pocket-agent';

interface JudgedTool {
  capability: Capability;
  /** The tool declares no capability. */
  isUndeclared: boolean;
}

/** One line per server with unavailable tools. */
export async function unavailableServerTools(client: PocketAgentClient, profile: ProfileName): Promise<string[]> {
  const judged = (await client.listTools()).map((tool) => ({ name: tool.name, ...client.judge(tool) }));
  // longest first, because one name can be the prefix of another
  const servers = client.serverNames.toSorted((one, other) => other.length - one.length);
  const byServer = Map.groupBy(judged, ({ name }) => servers.find((server) => name.startsWith(`${server}_`)) ?? 'MCP');
  const unreachable = [...client.status].flatMap(([server, { status }]) =>
    status === 'failed' || status === 'lost' ? `-# **${server}** is currently unreachable.` : [],
  );
  const notAllowed = [...byServer].flatMap(([server, tools]) => {
    const judgedTools = tools.map(({ capability, from }) => ({ capability, isUndeclared: from === 'nothing' }));
    return hiddenLine({ label: server, profile, tools: judgedTools }) ?? [];
  });
  return [...unreachable, ...notAllowed];
}

/** One line per folder with unavailable tools. */
export function unavailableFolderTools(folders: readonly FolderState[], profile: ProfileName): string[] {
  return folders.flatMap(({ humanName, tools, undeclared }) => {
    const judged = tools.map((tool) => ({
      capability: capabilityOf(tool),
      isUndeclared: undeclared.includes(tool.name),
    }));
    const hidden = hiddenLine({ label: humanName, profile, tools: judged });
    const names = undeclared.map((name) => `\`${name}\``).join(', ');
    const guessed = `-# ${names} of **${humanName}**: treated as \`delete\`, because the manifest declares no \`capability\`.`;
    return [...(undeclared.length > 0 ? [guessed] : []), ...(hidden ? [hidden] : [])];
  });
}

/** Whether a profile excludes all tools of a folder. */
export function isHidden({ tools }: FolderState, profile: ProfileName): boolean {
  const allowed: readonly Capability[] = profiles[profile];
  return tools.length > 0 && tools.every((tool) => !allowed.includes(capabilityOf(tool)));
}

interface ToolsOfProfile {
  label: string;
  profile: ProfileName;
  tools: readonly JudgedTool[];
}

function hiddenLine({ label, profile, tools }: ToolsOfProfile): string | undefined {
  const allowed: readonly Capability[] = profiles[profile];
  const missing = tools.filter(({ capability }) => !allowed.includes(capability));
  if (missing.length === 0) return undefined;
  const can = [...new Set(missing.map(({ capability }) => capability))].join(', ');
  const guessed = missing.some(({ isUndeclared }) => isUndeclared) ? ', or declare no capability' : '';
  return `-# ${missing.length} of ${tools.length} tools of **${label}** are not available to the profile ${profile}: they can ${can}${guessed}.`;
}
