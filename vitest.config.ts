// Two projects: `unit` needs nothing but npm, and two minutes. `services` has what needs system services or a browser
// (`*.services.test.ts`), and what starts many processes, repeats a proof for each client, signal or seed, or otherwise takes
// long (`*.slow.test.ts`).
// Polls give up after 5 s and tests after 30 s, both times TEST_PATIENCE. By default that follows the load of the machine;
// it is at least 4, because other processes may start during the run.
import { existsSync, statfsSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const conditions = ['pocket-agent/source', 'module', 'node', 'development|production'];
const shared = { resolve: { conditions }, ssr: { resolve: { conditions } } };
const patience = Number(process.env.TEST_PATIENCE ?? Math.max(4, (loadavg()[0] ?? 0) / availableParallelism()));
/** Temporary files stay in memory if there is room, because SQLite waits for the disk after every commit. */
function temporaryFolder(): { TMPDIR?: string } {
  const folder = '/dev/shm';
  if (!existsSync(folder)) return {};
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > 2 ** 31 ? { TMPDIR: folder } : {};
}

const inRoot = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const sources = ['--conditions', 'pocket-agent/source'];

const common = {
  // Node strips the types, which costs a tenth less than Vite's transforms; but coverage knows only transformed files
  experimental: { viteModuleRunner: process.argv.includes('--coverage'), nodeLoader: false },
  globalSetup: [inRoot('scripts/test-programs.ts')],
  testTimeout: 30_000 * patience,
  hookTimeout: 30_000 * patience,
  teardownTimeout: 10_000 * patience, // a worker that ends saves what Node has compiled
  expect: { poll: { timeout: 5_000 * patience } },
};

export default defineConfig({
  test: {
    maxWorkers: Math.max(3, availableParallelism()),
    // programs that tests start load the bundles of scripts/test-programs.ts, and share what Node has compiled, as in
    // scripts/run-tests.ts
    env: {
      NODE_COMPILE_CACHE: inRoot('node_modules/.cache/tests'),
      NODE_OPTIONS: `--max-semi-space-size=32 --require ${JSON.stringify(inRoot('scripts/use-bundles.cjs'))}`,
      TEST_PATIENCE: String(patience),
      ...temporaryFolder(),
    },
    coverage: { provider: 'v8', include: ['packages/*/src/**'] },
    projects: [
      {
        ...shared,
        test: {
          name: 'unit',
          include: ['packages/*/test/**/*.test.ts', 'bench/test/*.test.ts'],
          exclude: ['**/*.{services,slow}.test.ts'],
          // Files share a worker and its loaded modules, which saves a third of the processor time. Stubs and spies of
          // one test end before the next; a test that counts sockets or timers compares with a count taken before.
          isolate: false,
          maxWorkers: Math.max(5, availableParallelism()), // many tests wait for a clock or a child, and hardly work
          execArgv: [...sources, '--max-semi-space-size=64'], // fewer collections of garbage: a twentieth of the processor time
          unstubEnvs: true,
          unstubGlobals: true,
          restoreMocks: true,
          ...common,
        },
      },
      {
        ...shared,
        test: {
          name: 'services',
          include: ['packages/*/test/**/*.{services,slow}.test.ts'],
          execArgv: sources,
          ...common,
        },
      },
    ],
  },
});
