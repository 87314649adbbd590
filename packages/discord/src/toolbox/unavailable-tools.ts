// Why tools that were chosen are not there: a server cannot be reached, or the user's profile leaves them out.

import type { FolderState } from '@pocket-agent/tool-folder';
import { type Capability, capabilityOf, type PocketAgentClient, type ProfileName, profiles } from 'pocket-agent';

interface Judged {
  capability: Capability;
  /** Nothing says what it can do. */
  isGuessed: boolean;
}

/** Lines for each server; none when all of its tools can be used. */
export async function leftOut(client: PocketAgentClient, profile: ProfileName): Promise<string[]> {
  const judged = (await client.listTools()).map((tool) => ({ name: tool.name, ...client.judge(tool) }));
  // the longest first: one may begin like another
  const servers = client.serverNames.toSorted((one, other) => other.length - one.length);
  const byServer = Map.groupBy(judged, ({ name }) => servers.find((server) => name.startsWith(`${server}_`)) ?? 'MCP');
  const away = [...client.status].flatMap(([server, { status }]) =>
    status === 'failed' || status === 'lost' ? `-# **${server}** cannot be reached right now.` : [],
  );
  const notAllowed = [...byServer].flatMap(([server, tools]) => {
    const known = tools.map(({ capability, from }) => ({ capability, isGuessed: from === 'nothing' }));
    return hiddenLine({ label: server, profile, tools: known }) ?? [];
  });
  return [...away, ...notAllowed];
}

/** Lines for each folder; none when all of its tools can be used. */
export function leftOutOfFolders(folders: readonly FolderState[], profile: ProfileName): string[] {
  return folders.flatMap(({ humanName, tools, undeclared }) => {
    const judged = tools.map((tool) => ({ capability: capabilityOf(tool), isGuessed: undeclared.includes(tool.name) }));
    const hidden = hiddenLine({ label: humanName, profile, tools: judged });
    const names = undeclared.map((name) => `\`${name}\``).join(', ');
    const guessed = `-# ${names} of **${humanName}**: treated like \`delete\`, since the manifest names no \`capability\`.`;
    return [...(undeclared.length > 0 ? [guessed] : []), ...(hidden ? [hidden] : [])];
  });
}

/** Whether a profile leaves nothing of a folder. */
export function isHidden({ tools }: FolderState, profile: ProfileName): boolean {
  const allowed: readonly Capability[] = profiles[profile];
  return tools.length > 0 && tools.every((tool) => !allowed.includes(capabilityOf(tool)));
}

interface Hidden {
  label: string;
  profile: ProfileName;
  tools: readonly Judged[];
}

function hiddenLine({ label, profile, tools }: Hidden): string | undefined {
  const allowed: readonly Capability[] = profiles[profile];
  const missing = tools.filter(({ capability }) => !allowed.includes(capability));
  if (missing.length === 0) return undefined;
  const can = [...new Set(missing.map(({ capability }) => capability))].join(', ');
  const guessed = missing.some(({ isGuessed }) => isGuessed) ? ', or do not say what they do' : '';
  return `-# ${missing.length} of ${tools.length} tools of **${label}** are not for the profile ${profile}: they can ${can}${guessed}.`;
}
