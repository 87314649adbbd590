// `npm test`: runs the unit tests, or a part of them. Unknown options are passed on to Vitest.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vitestArguments } from './test-arguments.ts';

const help = `npm test                   all unit tests
npm test -- --quick        those of the agent itself, in seconds
npm test -- --verbose      every test by its title
npm test -- --coverage     with coverage, in coverage/
npm test -- NAME…          test files whose path contains NAME
npm test -- -u NAME…       the same, and renews their snapshots and golden files
More options are those of Vitest: npx vitest --help
`;

const args = process.argv.slice(2);
if (args.includes('--help') || args.includes('-h')) process.stdout.write(help);
else {
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
  const given = ['run', '--project', 'unit', ...vitestArguments(args)];
  // Vitest and its workers share what Node has compiled with the programs that tests start
  const env = { NODE_COMPILE_CACHE: join(cwd, 'node_modules/.cache/tests'), ...process.env };
  const { status } = spawnSync(process.execPath, [vitest, ...given], { stdio: 'inherit', cwd, env });
  process.exitCode = status ?? 1; // no status: ended by a signal
}
