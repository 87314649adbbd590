// npm run discord:demo: people talk to the bot on a local Discord. Needs no account and no API key.
import { parseArgs } from 'node:util';
import { errorText } from '@pocket-agent/kit';

const USAGE = `Usage: npm run discord:demo [-- --fast | -- --tools DIR | -- --load N]

  --fast        show the scene without pauses
  --tools DIR   talk to the bot yourself, with the tool folders in DIR; POCKET_DISCORD_MODELS sets its model
  --load N      N people ask five questions each at the same time; prints what it took
`;

const print = (line: string) => void process.stdout.write(`${line}\n`);
try {
  const { values } = parseArgs({
    options: {
      fast: { type: 'boolean', default: false },
      tools: { type: 'string' },
      load: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) process.stdout.write(USAGE);
  else if (values.load !== undefined) await (await import('./load.ts')).playLoad(readCount(values.load), print);
  else if (values.tools === undefined) await (await import('./scene.ts')).playScene({ isFast: values.fast, print });
  else await (await import('./talk.ts')).talk(values.tools, print);
} catch (error) {
  // --tools sets this variable
  const text = errorText(error).replace(/\bPOCKET_DISCORD_TOOLS\b( \(toolDirectories\))?/g, '--tools');
  process.stderr.write(`${text}\n${isUsage(error) ? USAGE : ''}`);
  process.exitCode = isUsage(error) || isConfiguration(error) ? 2 : 1;
}

function readCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0) return count;
  const error = new Error(`--load must be an integer of at least 1, not "${text}".`);
  throw Object.assign(error, { code: 'ERR_PARSE_ARGS_VALUE' });
}

function isUsage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

function isConfiguration(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'CONFIG_INVALID';
}
