// `agent3 calls`: the call log, newest first.

import type { CallLogEntry } from '../base/call-records.ts';
import { checkInput } from '../base/check-input.ts';
import { cleanText } from '../base/clean-text.ts';
import { dollarsText } from '../base/price-text.ts';
import { callLogRequest } from '../base/requests.ts';
import { durationText } from '../pages/figures.ts';
import { numberOf, readArguments } from './arguments.ts';
import { withAgent3 } from './with-agent3.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { values } = readArguments({
    args: [...args],
    options: {
      agent: { type: 'string' },
      caller: { type: 'string' },
      'user-agent': { type: 'string' },
      limit: { type: 'string' },
      cursor: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const { agent, caller, 'user-agent': userAgentId, limit, cursor, json } = values;
  const query = checkInput(
    callLogRequest,
    {
      agentId: agent,
      caller,
      userAgentId,
      limit: numberOf('--limit', limit),
      cursor,
    },
    { agentId: '--agent', caller: '--caller', userAgentId: '--user-agent', limit: '--limit', cursor: '--cursor' },
  );
  return withAgent3(async (agent3, reader) => {
    const log = await agent3.calls(query, reader);
    if (json) process.stdout.write(`${JSON.stringify(log)}\n`);
    else process.stdout.write(log.calls.map(lineOf).join('') || 'No calls.\n');
    if (!json && log.nextCursor !== undefined) process.stderr.write(`More: --cursor ${log.nextCursor}\n`);
    return 0;
  });
}

function lineOf(entry: CallLogEntry): string {
  const { startedAt, agentId, caller, userAgentId, success, errorCode, responseTime, cost, tokensUsed } = entry;
  const by = userAgentId === undefined ? caller : `${caller} (${userAgentId})`;
  const tokens = tokensUsed === undefined ? [] : [`${entry.tokensEstimated ? 'about ' : ''}${tokensUsed} tokens`];
  const facts = [
    success ? 'ok' : (errorCode ?? 'failed'),
    durationText(responseTime),
    ...tokens,
    ...(cost === undefined ? [] : [dollarsText(cost)]),
  ];
  return cleanText(`${startedAt}  ${agentId}  by ${by}: ${facts.join(', ')}\n`);
}
