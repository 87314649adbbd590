// Every work, and who does it.
import type { Contender, Effort, Figures } from './contender.ts';
import { contenderModule, floor, loopPeers, peers, sdk, us } from './contenders.ts';

export interface Work {
  contenders: readonly string[];
  /** Of a whole run, where they are not as many as for most. */
  rounds?: number;
  measure(contender: string, effort: Effort): Promise<Figures | undefined>;
}

type Measure = (contender: Contender, effort: Effort) => Promise<Figures | undefined>;

/** Modules are loaded in the child that measures, and none that it does not need. */
function by(load: () => Promise<Measure>): Work['measure'] {
  return async (name, effort) => {
    const { contender }: { contender: Contender } = await import(contenderModule(name));
    return (await load())(contender, effort);
  };
}

/** Of most works, in a whole run. */
export const ROUNDS = 3;
/** Two servers of one program, warmed up alike, differ by up to a quarter, and every round has its own. */
const SERVER_ROUNDS = 5;

export const works: Record<string, Work> = {
  loop: { contenders: [floor, us, ...loopPeers], measure: by(async () => (await import('./tasks/loop.ts')).loop) },
  mcpSteps: {
    contenders: [sdk, us, ...loopPeers],
    measure: by(async () => (await import('./tasks/mcp-steps.ts')).mcpSteps),
  },
  idle: { contenders: [floor, us, ...peers], measure: by(async () => (await import('./tasks/idle.ts')).idle) },
  idleMcp: { contenders: [sdk, us, ...peers], measure: by(async () => (await import('./tasks/idle.ts')).idleMcp) },
  idleMcpOwn: {
    contenders: [sdk, us, ...peers],
    measure: by(async () => (await import('./tasks/idle.ts')).idleMcpOwn),
  },
  stdio: {
    contenders: [floor, sdk, us, ...peers],
    rounds: SERVER_ROUNDS,
    measure: by(async () => (await import('./tasks/wire.ts')).stdio),
  },
  http2026: {
    contenders: [floor, sdk, us, ...peers],
    rounds: SERVER_ROUNDS,
    measure: by(async () => (await import('./tasks/wire.ts')).http('2026')),
  },
  http2025: {
    contenders: [floor, sdk, us, ...peers],
    rounds: SERVER_ROUNDS,
    measure: by(async () => (await import('./tasks/wire.ts')).http('2025')),
  },
  router: { contenders: [floor, us], measure: async (...of) => (await import('./tasks/router.ts')).router(...of) },
  bridge: { contenders: [floor, us], measure: async (...of) => (await import('./tasks/agent3.ts')).bridge(...of) },
  search: {
    contenders: [floor, us],
    rounds: 1,
    measure: async (...of) => (await import('./tasks/agent3.ts')).search(...of),
  },
  mattermost: {
    contenders: [floor, us],
    measure: async (...of) => (await import('./tasks/mattermost.ts')).mattermost(...of),
  },
  cold: {
    contenders: [floor, sdk, us, ...peers],
    measure: async (...of) => (await import('./tasks/cold.ts')).cold(...of),
  },
  installed: {
    contenders: [sdk, us, ...peers],
    rounds: 1,
    measure: async (contender) => (await import('./installed.ts')).installed(contender),
  },
};
