// A 2025 server that can add the tool `grown` to all its sessions, because some frameworks open several.
import { type Host, startSessionHost } from '../../packages/pocket-agent/test/fixtures/servers/http-hosts.ts';
import { legacyServer } from '../../packages/pocket-agent/test/fixtures/servers/legacy-tools.ts';

type Server = ReturnType<typeof legacyServer>;

export async function startGrowingHost(): Promise<Host & { grow(): void }> {
  const servers: Server[] = [];
  let hasGrown = false;
  const host = await startSessionHost(() => {
    const server = legacyServer();
    if (hasGrown) addGrown(server);
    servers.push(server);
    return server;
  });
  const grow = () => {
    hasGrown = true;
    for (const server of servers) addGrown(server);
  };
  return { ...host, grow };
}

function addGrown(server: Server): void {
  server.registerTool('grown', {}, () => ({ content: [{ type: 'text', text: 'new here' }] }));
}
