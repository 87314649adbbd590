// Calls of a tool on an MCP server in another process, over stdio and HTTP.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Connection, Contender, Effort, Endpoint, Figures } from '../contender.ts';
import { timed } from '../timing.ts';

const serverFile = fileURLToPath(new URL('../servers/bench-server.ts', import.meta.url));
const IN_FLIGHT = 32;

export async function wire({ connect }: Contender, effort: Effort): Promise<Figures | undefined> {
  if (!connect) return undefined;
  const rates = async (endpoint: Endpoint) => {
    const connection = await connect(endpoint);
    if (!connection) return undefined;
    const [oneByOne, together] = [
      await callsPerSecond(connection, effort, 1),
      await callsPerSecond(connection, effort, IN_FLIGHT),
    ];
    await connection.close();
    return { oneByOne, together };
  };
  const overHttp = async (era: '2025' | '2026') => {
    const { server, url } = await startHttp(era);
    try {
      return await rates({ url });
    } finally {
      server.kill();
    }
  };
  const stdio = await rates({ command: process.execPath, args: [serverFile, 'stdio'] });
  const [modern, sessions] = [await overHttp('2026'), await overHttp('2025')];
  return {
    ...(stdio ? { stdioCalls: stdio.oneByOne.rate, stdioCalls32: stdio.together.rate } : {}),
    ...(modern ? { httpCalls: modern.oneByOne.rate, httpCalls32: modern.together.rate } : {}),
    ...(modern ? { httpCallCpu: modern.oneByOne.cpu } : {}),
    ...(sessions ? { sessionCalls: sessions.oneByOne.rate, sessionCalls32: sessions.together.rate } : {}),
    ...(sessions ? { sessionCallCpu: sessions.oneByOne.cpu } : {}),
  };
}

async function callsPerSecond(connection: Connection, effort: Effort, atOnce: number) {
  const call = async () => {
    const answer = await connection.call(1, 2);
    if (answer !== '3') throw new Error(`The tool answered ${answer}.`);
  };
  const { cpu, wall } = await timed(() => Promise.all(Array.from({ length: atOnce }, call)), effort);
  return { rate: (atOnce * 1e6) / wall, cpu: cpu / atOnce };
}

async function startHttp(era: string): Promise<{ server: ChildProcess; url: string }> {
  const server = spawn(process.execPath, [serverFile, era], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(server.stdout, 'data');
  return { server, url: String(line).trim() };
}
