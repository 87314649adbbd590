import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadToolFolder } from '@pocket-agent/tool-folder';

test('opening_hours knows that the shop is closed on Sunday', async (context) => {
  const folder = loadToolFolder(import.meta.dirname, { strict: true });
  context.after(() => folder.close());
  const { content } = await folder.callTool('opening_hours', { day: 'sunday' });
  assert.deepEqual(content, [{ type: 'text', text: 'closed' }]);
});

test('opening_hours refuses a day that is not in its manifest', async (context) => {
  const folder = loadToolFolder(import.meta.dirname, { strict: true });
  context.after(() => folder.close());
  await assert.rejects(folder.callTool('opening_hours', { day: 'yesterday' }), /day/);
});
