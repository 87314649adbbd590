// All workloads, and the contenders that take part.
import type { Contender, Effort, Figures, SharedServer } from '../contenders/contender.ts';
import { contenderModule, floor, loopPeers, peers, sdk, us } from '../contenders/contenders.ts';

export interface Workload {
  contenders: readonly string[];
  /** The rounds of a full run. Default: `ROUNDS`. */
  rounds?: number;
  /** The rounds of the peers. Fewer where no target compares us with them. */
  peerRounds?: number;
  /** Starts the server that all contenders of a round call. */
  startServer?(): Promise<SharedServer>;
  measure(contender: string, effort: Effort, serverUrl?: string): Promise<Figures>;
}

type Measure = (contender: Contender, effort: Effort, serverUrl?: string) => Promise<Figures>;

/** Measures with code that only the measuring process loads. */
function loaded(load: () => Promise<Measure>): Workload['measure'] {
  return async (name, effort, serverUrl) => {
    const { contender }: { contender: Contender } = await import(contenderModule(name));
    return (await load())(contender, effort, serverUrl);
  };
}

/** The rounds of a full run. */
export const ROUNDS = 3;
/** More rounds, because each contender starts its own server, and these differ by up to a quarter after the same warm-up. */
const STDIO_ROUNDS = 5;

export const workloads: Record<string, Workload> = {
  loop: { contenders: [floor, us, ...loopPeers], measure: loaded(async () => (await import('./loop.ts')).loop) },
  mcpSteps: {
    contenders: [sdk, us, ...loopPeers],
    measure: loaded(async () => (await import('./mcp-steps.ts')).mcpSteps),
  },
  crowd: {
    contenders: [floor, us, 'ai'],
    measure: loaded(async () => (await import('./crowd.ts')).crowd),
  },
  idle: {
    contenders: [floor, us, ...peers],
    peerRounds: 1,
    measure: loaded(async () => (await import('./idle.ts')).idle),
  },
  idleMcp: {
    contenders: [sdk, us, ...peers],
    peerRounds: 1,
    measure: loaded(async () => (await import('./idle.ts')).idleMcp),
  },
  idleMcpOwn: {
    contenders: [sdk, us, ...peers],
    peerRounds: 1,
    measure: loaded(async () => (await import('./idle.ts')).idleMcpOwn),
  },
  stdio: {
    contenders: [floor, sdk, us, ...peers],
    rounds: STDIO_ROUNDS,
    peerRounds: 1,
    measure: loaded(async () => (await import('./wire.ts')).stdio),
  },
  http2026: {
    contenders: [floor, sdk, us, ...peers],
    peerRounds: 1,
    startServer: async () => (await import('./wire.ts')).startHttp('2026'),
    measure: loaded(async () => (await import('./wire.ts')).http('2026')),
  },
  http2025: {
    contenders: [floor, sdk, us, ...peers],
    peerRounds: 1,
    startServer: async () => (await import('./wire.ts')).startHttp('2025'),
    measure: loaded(async () => (await import('./wire.ts')).http('2025')),
  },
  router: {
    contenders: [floor, us],
    measure: async (name, effort) => (await import('./router.ts')).router(name, effort),
  },
  bridge: {
    contenders: [floor, us],
    measure: async (name, effort) => (await import('./agent3.ts')).bridge(name, effort),
  },
  search: {
    contenders: [floor, us],
    measure: async (name, effort) => (await import('./agent3.ts')).search(name, effort),
  },
  code: {
    contenders: [us],
    measure: async (_name, effort) => (await import('./code.ts')).code(effort),
  },
  mattermost: {
    contenders: [floor, us],
    measure: async (name, effort) => (await import('./mattermost.ts')).mattermost(name, effort),
  },
  cold: {
    contenders: [floor, sdk, us, ...peers],
    measure: async (name, effort) => (await import('./cold.ts')).cold(name, effort),
  },
  installed: {
    contenders: [sdk, us, ...peers],
    rounds: 1,
    measure: async (contender) => (await import('../measuring/installed.ts')).installed(contender),
  },
};
