// A bot in a process of its own, for tests that kill it: it answers slowly, and can be made to hang after a tool.

import { appendFileSync } from 'node:fs';
import { tool } from 'pocket-agent';
import { scriptedServer } from 'pocket-agent/testing';
import { createBot, jsonLogger } from '../src/index.ts';
import { answers, botOptions, lastText } from './start-bot.ts';

const { apiUrl = '', token = '', database = {}, marks = '' } = JSON.parse(process.argv[2] ?? '{}');
const mark = tool({
  name: 'mark',
  description: 'Leaves a mark',
  annotations: { readOnlyHint: true },
  run: () => {
    appendFileSync(marks, 'mark\n');
    return 'marked';
  },
});
const model = answers((options) => {
  const question = /asks [\w ]+/.exec(lastText(options, 'user'))?.[0] ?? 'nothing';
  if (!question.includes('for a mark')) return { text: `answer to ${question}`, delayMs: 30 };
  if (options.prompt.at(-1)?.role === 'tool') return { text: 'never said', delayMs: 60_000 };
  return { text: 'I begin.', toolCalls: [{ name: 'marks_mark' }] };
});
const bot = createBot(
  await botOptions(
    { apiUrl, token },
    { model, database, mcpServers: { marks: { server: await scriptedServer([mark]) } }, logger: jsonLogger('warn') },
  ),
);
await bot.start();
process.once('SIGTERM', () => void bot.close());
