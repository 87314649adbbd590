// Why tools of chosen MCP servers are not there: the server cannot be reached, or somebody's profile leaves them out.
import { type PocketAgentClient, type ProfileName, profiles } from 'pocket-agent';

/** Lines for each server; none when all of its tools can be used. */
export async function leftOut(client: PocketAgentClient, profile: ProfileName): Promise<string[]> {
  const allowed: readonly string[] = profiles[profile];
  const judged = (await client.listTools()).map((tool) => ({ name: tool.name, ...client.judge(tool) }));
  // the longest first: one may begin like another
  const servers = client.serverNames.toSorted((one, other) => other.length - one.length);
  const byServer = Map.groupBy(judged, ({ name }) => servers.find((server) => name.startsWith(`${server}_`)) ?? 'MCP');
  const away = [...client.status].flatMap(([server, { status }]) =>
    status !== 'connected' ? `-# **${server}** cannot be reached right now.` : [],
  );
  const notAllowed = [...byServer].flatMap(([server, tools]) => {
    const missing = tools.filter(({ capability }) => !allowed.includes(capability));
    if (missing.length === 0) return [];
    const can = [...new Set(missing.map(({ capability }) => capability))].join(', ');
    const guessed = missing.some(({ from }) => from === 'nothing') ? ', or do not say what they do' : '';
    return [
      `-# ${missing.length} of ${tools.length} tools of **${server}** are not for the profile ${profile}: they can ${can}${guessed}.`,
    ];
  });
  return [...away, ...notAllowed];
}
