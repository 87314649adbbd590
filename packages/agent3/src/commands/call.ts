// `agent3 call ID MESSAGE`: the answer on stdout, what goes on meanwhile on stderr.
import { parseArgs } from 'node:util';
import { cleanText } from '../bridge/clean-text.ts';
import { Agent3Error } from '../registry/agent3-error.ts';
import { inputChecked } from '../registry/input.ts';
import { callRequest } from '../requests.ts';
import { withAgent3 } from './with-agent3.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      timeout: { type: 'string' },
      'max-cost': { type: 'string' },
      context: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [agentId, ...words] = positionals;
  if (agentId === undefined || words.length === 0)
    throw new Agent3Error('INPUT_INVALID', 'Say whom to call and what: agent3 call ID MESSAGE');
  const { timeout, 'max-cost': maxCost, context, json } = values;
  const request = inputChecked(callRequest, {
    agentId,
    message: words.join(' '),
    ...(context === undefined ? {} : { contextId: context }),
    metadata: {
      ...(timeout === undefined ? {} : { timeout: Number(timeout) }),
      ...(maxCost === undefined ? {} : { maxCost: Number(maxCost) }),
    },
  });
  const interrupt = new AbortController();
  const stop = () => interrupt.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  return withAgent3(async (agent3, caller) => {
    const response = await agent3.call(request, caller, {
      signal: interrupt.signal,
      onProgress: ({ message }) => {
        if (message !== '') process.stderr.write(`${cleanText(message)}\n`);
      },
    });
    const { result, error, task, success } = response;
    if (json) process.stdout.write(`${JSON.stringify(response)}\n`);
    else if (result) process.stdout.write(`${cleanText(result.text)}\n`);
    if (!json && task?.question) process.stderr.write(`It asks: ${cleanText(task.question)}\n`);
    if (!json && error !== undefined) process.stderr.write(`agent3: ${cleanText(error)}\n`);
    return success ? 0 : 1;
  });
}
