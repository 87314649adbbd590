// A process that has lost its run without noticing it yet.
import { DatabaseSync } from 'node:sqlite';
import { McpServer } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { openRuns } from '../../src/index.ts';
import { agentOf, newFile, silent } from '../agents.ts';
import { firstQuestion } from '../waiting.ts';

/** Its tool asks for a day. */
function askingServer(): McpServer {
  const server = new McpServer({ name: 'asker', version: '1' }, { capabilities: {} });
  server.registerTool('book', { description: 'Books' }, async () => {
    const requestedSchema = { type: 'object' as const, properties: { day: { type: 'string' as const } } };
    const { content } = await server.server.elicitInput({ mode: 'form', message: 'Which day?', requestedSchema });
    return { content: [{ type: 'text', text: `Booked for ${content?.day}` }] };
  });
  return server;
}

test('it leaves the answer to a question to the process that holds the run', async () => {
  const file = newFile();
  const database = new DatabaseSync(file, { timeout: 10_000 });
  onTestFinished(() => database.close());
  const ended = Promise.withResolvers<unknown>();
  const agent = () =>
    agentOf([{ toolCalls: [{ name: 'book' }] }, 'Booked'], {
      mcpServers: { asker: { server: askingServer } },
      hooks: {
        onEvent: ({ type }) => {
          if (type === 'run_failed') ended.resolve(database.prepare('select status from pocket_run_questions').get());
        },
      },
    });
  const runs = await openRuns({ url: `sqlite:${file}`, agents: { a: agent }, logger: silent });
  onTestFinished(() => runs.close());
  await runs.start('a', 'Book', { id: 'r' });
  const { id } = await firstQuestion(runs);
  database.exec(`update pocket_runs set holder = 'another process'`);
  await runs.answer(id, { action: 'accept', content: { day: 'Monday' } });
  expect(await ended.promise).toEqual({ status: 'answered' });
});
