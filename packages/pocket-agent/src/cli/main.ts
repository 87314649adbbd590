#!/usr/bin/env node
// The command `pocket-agent`: finds the command, runs it, turns errors into one line and an exit code.
import { parseArgs } from 'node:util';
import { errorText, isPocketError } from '../errors.ts';
import { packageVersion } from '../version.ts';
import { ask } from './ask.ts';
import { tools } from './tools.ts';

const usage = `Usage: pocket-agent [options] "question"
       echo "question" | pocket-agent [options]
       pocket-agent tools [--profile NAME] [--config FILE] [--json]

Asks an agent that has tools for sums, dates, time zones, units and the text files below this folder, or those of
your MCP servers. \`tools\` lists the tools, what each can do (read, write, create, delete), what that was concluded
from, and whether the profile allows it.

Options:
  -m, --model NAME     anthropic/…, openai/…, google/…, azure/…, ollama/…, openai-compatible/… or demo
                       default: by the key that is set, else a local Ollama, else the demo model (no LLM)
      --config FILE    JSON with "mcpServers"; default: the built-in server
      --profile NAME   reader, writer, manager or admin: what tools may do; default: everything
      --confirm WHEN   never, destructive, write or always: which calls to ask about; default: destructive
      --yes            allow every call; without it, and without a terminal to ask in, such calls are refused
      --json           tools: one JSON object per line
  -q, --quiet          only the answer, and questions about calls
  -h, --help           this text
  -v, --version        the version
`;

const everywhere = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const;

const INTERRUPTED = 130;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], strict: false, options: everywhere });
  if (values.help) return print(usage);
  if (values.version) return print(`${packageVersion()}\n`);
  const controller = new AbortController();
  const { signal } = controller;
  const interrupt = () => controller.abort(new Error('interrupted'));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', () => controller.abort(new Error('terminated')));
  try {
    if (args[0] === 'tools') return await tools(args.slice(1), signal);
    if (await ask(args, { signal, interrupt })) return 0;
  } catch (error) {
    if (signal.aborted) return INTERRUPTED;
    throw error;
  }
  process.stderr.write(`There is no question.\n\n${usage}`);
  return 2;
}

function print(output: string): number {
  process.stdout.write(output);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const isUsage = error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  const isMistake = isUsage || isPocketError(error, 'MODEL_UNKNOWN') || isPocketError(error, 'CONFIG_INVALID');
  process.stderr.write(`pocket-agent: ${errorText(error)}${isUsage ? `\n\n${usage}` : '\n'}`);
  process.exitCode = isMistake ? 2 : 1;
}
