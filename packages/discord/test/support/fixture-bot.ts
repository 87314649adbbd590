// A bot as a separate program, for tests that kill it. It answers slowly, and can hang after a tool call or kill itself
// before a message is sent or after Discord accepted it.

import { appendFileSync } from 'node:fs';
import { DefaultRestOptions, type RESTOptions } from 'discord.js';
import { tool } from 'pocket-agent';
import { scriptedServer } from 'pocket-agent/testing';
import { createBot, jsonLogger } from '../../src/index.ts';
import { answers, botOptions, lastText } from './start-bot.ts';

const {
  apiUrl = '',
  token = '',
  database = {},
  marks = '',
  leaseMs,
  diesBefore,
  diesAfter,
} = JSON.parse(process.argv[2] ?? '{}');
const mark = tool({
  name: 'mark',
  description: 'Leaves a mark',
  annotations: { readOnlyHint: true },
  run: () => {
    appendFileSync(marks, 'mark\n');
    return 'marked';
  },
});
const sign = tool({
  name: 'sign',
  description: 'Signs something, which needs an approval',
  annotations: { destructiveHint: false },
  run: () => {
    appendFileSync(marks, 'signed\n');
    return 'signed';
  },
});
const lines = Array.from({ length: 150 }, (_, index) => `line ${index} of a very long answer`);
const model = answers((options) => {
  const question = /asks [\w ]+/.exec(lastText(options, 'user'))?.[0] ?? 'nothing';
  if (question.includes('for much')) return lines.join('\n');
  if (question.includes('to sign'))
    return options.prompt.at(-1)?.role === 'tool' ? 'It is signed.' : { toolCalls: [{ name: 'marks_sign' }] };
  if (!question.includes('for a mark'))
    return { text: `answer to ${question}`, delayMs: question.includes('slowly') ? 600 : 30 };
  if (options.prompt.at(-1)?.role === 'tool') return { text: 'never said', delayMs: 60_000 };
  return { text: 'I begin.', toolCalls: [{ name: 'marks_mark' }] };
});
const makeRequest: RESTOptions['makeRequest'] = async (url, init) => {
  const isLast = (pattern: string | undefined) =>
    pattern !== undefined && init.method === 'POST' && new RegExp(pattern).test(String(init.body));
  if (isLast(diesBefore)) process.kill(process.pid, 'SIGKILL');
  const response = await DefaultRestOptions.makeRequest(url, init);
  if (isLast(diesAfter)) process.kill(process.pid, 'SIGKILL');
  return response;
};
const bot = createBot(
  await botOptions(
    { apiUrl, token },
    {
      model,
      database,
      leaseMs,
      mcpServers: { marks: { server: await scriptedServer([mark, sign]) } },
      logger: jsonLogger('warn'),
      client: { rest: { makeRequest } },
    },
  ),
);
await bot.start();
process.send?.('ready');
process.once('SIGTERM', () => void bot.close());
