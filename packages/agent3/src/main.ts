#!/usr/bin/env node
// The command `agent3`: loads and runs a subcommand.
import { requireNode } from '@pocket-agent/kit/require-node';

interface Command {
  command(args: readonly string[]): Promise<number>;
}

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  mcp: () => import('./commands/mcp.ts'),
  hub: () => import('./commands/hub.ts'),
  search: () => import('./commands/search.ts'),
  call: () => import('./commands/call.ts'),
  calls: () => import('./commands/calls.ts'),
  register: () => import('./commands/register.ts'),
  claim: () => import('./commands/claim.ts'),
  limits: async () => ({ command: (await import('./commands/spending.ts')).limits }),
  statement: async () => ({ command: (await import('./commands/spending.ts')).statement }),
  import: async () => ({ command: (await import('./commands/exchange.ts')).importCommand }),
  export: async () => ({ command: (await import('./commands/exchange.ts')).exportCommand }),
  gateway: async () => ({ command: (await import('./commands/exchange.ts')).gatewayCommand }),
  token: () => import('./commands/token.ts'),
};

async function main(args: readonly string[]): Promise<number> {
  (await import('@pocket-agent/http/output')).ignoreClosedPipes();
  const [first = 'mcp', ...rest] = args;
  const flags = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length);
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write((await import('./commands/help.ts')).help);
    return 0;
  }
  if (flags.includes('--version') || flags.includes('-v')) {
    process.stdout.write(`${(await import('@pocket-agent/kit/version')).VERSION}\n`);
    return 0;
  }
  try {
    const load = Object.hasOwn(commands, first) ? commands[first] : undefined;
    if (!load) {
      const meant = (await import('@pocket-agent/kit')).closest(first, Object.keys(commands));
      const hint = meant ? ` (did you mean "${meant}"?)` : '';
      process.stderr.write(`agent3: unknown command "${first}"${hint}; agent3 --help lists them\n`);
      return 2;
    }
    const { command } = await load();
    const { withExport } = await import('@pocket-agent/kit/telemetry/export');
    return await withExport('agent3', () => command(rest));
  } catch (error) {
    const { reportError } = await import('./commands/report-error.ts');
    return reportError(error);
  }
}

requireNode('agent3');
process.exitCode = await main(process.argv.slice(2));
