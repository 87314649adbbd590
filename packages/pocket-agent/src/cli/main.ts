#!/usr/bin/env node
// The command `pocket-agent`: reads the arguments, runs the command, turns errors into one line and an exit code.
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { errorText, isPocketError } from '../errors.ts';
import { packageVersion } from '../version.ts';
import { ask } from './ask.ts';

const usage = `Usage: pocket-agent [options] "question"
       echo "question" | pocket-agent [options]

Asks an agent that has tools for sums, dates, time zones, units and the text files below this folder.

Options:
  -m, --model NAME   anthropic/…, openai/…, google/…, azure/…, ollama/…, openai-compatible/… or demo
                     default: by the key that is set, else a local Ollama, else the demo model (no LLM)
  -q, --quiet        only the answer
  -h, --help         this text
  -v, --version      the version
`;

const INTERRUPTED = 130;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      model: { type: 'string', short: 'm' },
      quiet: { type: 'boolean', short: 'q', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      version: { type: 'boolean', short: 'v', default: false },
    },
  });
  if (values.help) return print(usage);
  if (values.version) return print(`${packageVersion()}\n`);
  const question = positionals.join(' ').trim() || (process.stdin.isTTY ? '' : (await text(process.stdin)).trim());
  if (!question) {
    process.stderr.write(`There is no question.\n\n${usage}`);
    return 2;
  }
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort(new Error('interrupted')));
  process.once('SIGTERM', () => controller.abort(new Error('terminated')));
  try {
    await ask(question, { model: values.model, quiet: values.quiet, signal: controller.signal });
    return 0;
  } catch (error) {
    if (controller.signal.aborted) return INTERRUPTED;
    throw error;
  }
}

function print(output: string): number {
  process.stdout.write(output);
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`pocket-agent: ${errorText(error)}${isUsage ? `\n\n${usage}` : '\n'}`);
  process.exitCode = isUsage || isPocketError(error, 'MODEL_UNKNOWN') ? 2 : 1;
}
