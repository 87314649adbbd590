// Calls of a tool on an MCP server in another process, over stdio and HTTP.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Connection, Contender, Effort, Endpoint, Figures } from '../contender.ts';
import { timed } from '../timing.ts';

const serverFile = fileURLToPath(new URL('../servers/bench-server.ts', import.meta.url));
const IN_FLIGHT = 32;
/** A call goes through so much code that it is still getting faster after a thousand of them. */
const WARM_CALLS = 2_500;

export async function stdio(contender: Contender, effort: Effort): Promise<Figures | undefined> {
  const rates = await ratesOf(contender, { command: process.execPath, args: [serverFile, 'stdio'] }, effort);
  return rates && { stdioCalls: rates.oneByOne.rate, stdioCalls32: rates.together.rate };
}

/** The server of 2026 makes itself anew for every request, that of 2025 keeps sessions. */
export function http(era: '2025' | '2026') {
  return async (contender: Contender, effort: Effort): Promise<Figures | undefined> => {
    const { server, url } = await startHttp(era);
    try {
      const rates = await ratesOf(contender, { url }, effort);
      return (
        rates && {
          [`http${era}Calls`]: rates.oneByOne.rate,
          [`http${era}Calls32`]: rates.together.rate,
          [`http${era}CallCpu`]: rates.oneByOne.cpu,
        }
      );
    } finally {
      server.kill();
    }
  };
}

async function ratesOf({ connect }: Contender, endpoint: Endpoint, effort: Effort) {
  const connection = await connect?.(endpoint);
  if (!connection) return undefined;
  const oneByOne = await callsPerSecond(connection, effort, 1);
  const together = await callsPerSecond(connection, effort, IN_FLIGHT);
  await connection.close();
  return { oneByOne, together };
}

async function callsPerSecond(connection: Connection, effort: Effort, atOnce: number) {
  const call = async () => {
    const answer = await connection.call(1, 2);
    if (answer !== '3') throw new Error(`The tool answered ${answer}.`);
  };
  const calls = () => Promise.all(Array.from({ length: atOnce }, call));
  const { cpu, wall } = await timed(calls, { ...effort, warmRuns: WARM_CALLS / atOnce });
  return { rate: (atOnce * 1e6) / wall, cpu: cpu / atOnce };
}

async function startHttp(era: string): Promise<{ server: ChildProcess; url: string }> {
  const server = spawn(process.execPath, [serverFile, era], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(server.stdout, 'data');
  return { server, url: String(line).trim() };
}
