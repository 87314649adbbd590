// Two projects: `unit` needs nothing but npm; `services` needs system services or a browser, or takes long.
import { defineConfig } from 'vitest/config';

const conditions = ['pocket-agent/source', 'module', 'node', 'development|production'];
const shared = { resolve: { conditions }, ssr: { resolve: { conditions } } };

export default defineConfig({
  test: {
    maxWorkers: 2,
    coverage: { provider: 'v8', include: ['packages/*/src/**'] },
    projects: [
      {
        ...shared,
        test: {
          name: 'unit',
          include: ['packages/*/test/**/*.test.ts'],
          exclude: ['**/*.services.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        ...shared,
        test: { name: 'services', include: ['packages/*/test/**/*.services.test.ts'], testTimeout: 60_000 },
      },
    ],
  },
});
