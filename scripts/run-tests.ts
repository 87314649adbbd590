// `npm test`: runs the unit tests, or some of them. Passes unknown options on to Vitest.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vitestArguments } from './test-arguments.ts';

const help = `npm test                   all unit tests
npm test -- --quick        tests of the agent itself, in seconds
npm test -- --verbose      lists every test by its title
npm test -- --coverage     measures coverage, into coverage/
npm test -- NAME…          test files whose path contains NAME
npm test -- -u NAME…       the same, and updates their snapshots and golden files
Other options are passed to Vitest: npx vitest --help
`;

const args = process.argv.slice(2);
if (args.includes('--help') || args.includes('-h')) process.stdout.write(help);
else {
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
  const given = ['run', '--project', 'unit', ...vitestArguments(args)];
  // Vitest, its workers and the programs that tests start share one compile cache
  const env = { NODE_COMPILE_CACHE: join(cwd, 'node_modules/.cache/tests'), ...process.env };
  const { status } = spawnSync(process.execPath, [vitest, ...given], { stdio: 'inherit', cwd, env });
  process.exitCode = status ?? 1; // no status: ended by a signal
}
