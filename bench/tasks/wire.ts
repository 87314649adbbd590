// Tool calls to an MCP server in another process, over stdio and HTTP.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Connection, Contender, Effort, Figures, SharedServer } from '../contenders/contender.ts';
import { timed } from '../measuring/timing.ts';

type Era = '2025' | '2026';

const serverFile = fileURLToPath(new URL('../servers/bench-server.ts', import.meta.url));
const IN_FLIGHT = 32;
/** Each call in flight starts a chain of this many consecutive calls. */
const CALLS_EACH = 8;
/** Client and server still get faster after ten thousand calls. */
export const WARM_CALLS = 12_000;

export async function stdio({ connect }: Contender, effort: Effort): Promise<Figures> {
  const endpoint = { command: process.execPath, args: [serverFile, 'stdio'] };
  const { oneByOne, together } = await ratesOf(await connect(endpoint), effort);
  return { stdioCalls: oneByOne.rate, stdioCalls32: together.rate };
}

/** All contenders of a round call one server, because two servers of the same program differ by up to a quarter. */
export function http(era: Era) {
  return async ({ connect }: Contender, effort: Effort, url = ''): Promise<Figures> => {
    const { oneByOne, together } = await ratesOf(await connect({ url }), effort);
    return {
      [`http${era}Calls`]: oneByOne.rate,
      [`http${era}Calls32`]: together.rate,
      [`http${era}CallCpu`]: oneByOne.cpu,
      [`http${era}CallCpu32`]: together.cpu,
    };
  };
}

/** The 2026 server creates a new instance for every request; the 2025 server keeps sessions. */
export async function startHttp(era: Era): Promise<SharedServer> {
  const server = spawn(process.execPath, [serverFile, era], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(server, 'exit').then(([code, signal]) => `the server ended with ${signal ?? code}`);
  const url = await Promise.race([once(server.stdout, 'data').then(([line]) => String(line).trim()), ended.then(fail)]);
  return { url, ended, end: () => void server.kill() };
}

function fail(reason: string): never {
  throw new Error(reason);
}

async function ratesOf(connection: Connection, effort: Effort) {
  const longer = { ...effort, warmMs: 2.5 * effort.warmMs, warmRuns: WARM_CALLS / (IN_FLIGHT * CALLS_EACH) };
  const together = await callsPerSecond({ connection, effort: longer, atOnce: IN_FLIGHT });
  // after many calls in flight the code is warm for single calls, too
  const brief = { ...effort, warmMs: effort.warmMs / 10, warmRuns: 1 };
  const oneByOne = await callsPerSecond({ connection, effort: brief, atOnce: 1 });
  await connection.close();
  return { oneByOne, together };
}

interface CallRate {
  connection: Connection;
  effort: Effort;
  atOnce: number;
}

async function callsPerSecond({ connection, effort, atOnce }: CallRate) {
  const callsInTurn = async () => {
    for (let count = 0; count < CALLS_EACH; count++) {
      const answer = await connection.call(1, 2);
      if (answer !== '3') throw new Error(`The tool answered ${answer}.`);
    }
  };
  const calls = () => Promise.all(Array.from({ length: atOnce }, callsInTurn));
  const { cpu, wall } = await timed(calls, effort);
  return { rate: (atOnce * CALLS_EACH * 1e6) / wall, cpu: cpu / (atOnce * CALLS_EACH) };
}
