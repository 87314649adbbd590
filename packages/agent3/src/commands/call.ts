// `agent3 call ID MESSAGE`: prints the answer to stdout and progress to stderr.

import { Agent3Error } from '../base/agent3-error.ts';
import type { CallProgress } from '../base/calls.ts';
import { checkInput } from '../base/check-input.ts';
import { cleanText } from '../base/clean-text.ts';
import { callRequest } from '../base/requests.ts';
import { numberOf, readArguments } from './arguments.ts';
import { withAgent3 } from './with-agent3.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments({
    args: [...args],
    allowPositionals: true,
    options: {
      timeout: { type: 'string' },
      'max-cost': { type: 'string' },
      context: { type: 'string' },
      'user-agent': { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [agentId, ...words] = positionals;
  if (agentId === undefined || words.length === 0)
    throw new Agent3Error('INPUT_INVALID', 'The agent id or the message is missing: agent3 call ID MESSAGE');
  const { timeout, 'max-cost': maxCost, context, 'user-agent': userAgentId, json } = values;
  const request = checkInput(
    callRequest,
    {
      agentId,
      message: words.join(' '),
      contextId: context,
      metadata: {
        timeout: numberOf('--timeout', timeout),
        maxCost: numberOf('--max-cost', maxCost),
        userAgentId,
      },
    },
    {
      agentId: 'ID',
      message: 'MESSAGE',
      contextId: '--context',
      'metadata.timeout': '--timeout',
      'metadata.maxCost': '--max-cost',
      'metadata.userAgentId': '--user-agent',
    },
  );
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  return withAgent3(async (agent3, caller) => {
    const progress = new ProgressText();
    const onProgress = (update: CallProgress) => progress.add(update);
    const calling = agent3.call(request, caller, { signal: interrupt.signal, onProgress });
    const response = await calling.finally(() => progress.end());
    const { result, error, task, success } = response;
    if (json) process.stdout.write(`${JSON.stringify(response)}\n`);
    else if (result) process.stdout.write(`${cleanText(result.text)}\n`);
    if (!json && task?.question) process.stderr.write(`The agent asks: ${cleanText(task.question)}\n`);
    if (!json && error !== undefined) process.stderr.write(`agent3: ${cleanText(error)}\n`);
    return success ? 0 : 1;
  });
}

/** Writes pieces of the answer as they arrive, and other updates as separate lines. */
class ProgressText {
  #isLineOpen = false;

  add({ message, continues }: CallProgress): void {
    if (message === '') return;
    if (!continues) this.end();
    const text = cleanText(continues === undefined ? `${message}\n` : message);
    process.stderr.write(text);
    this.#isLineOpen = !text.endsWith('\n');
  }

  end(): void {
    if (this.#isLineOpen) process.stderr.write('\n');
    this.#isLineOpen = false;
  }
}
