// Files for a run: a PDF, a text file and bytes in memory. If the model does not accept a type of file, it is not called.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isPocketError, PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const folder = await mkdtemp(join(tmpdir(), 'pocket-agent-'));
const report = join(folder, 'report.pdf');
const notes = join(folder, 'notes.md');
await writeFile(report, '%PDF-1.7 (a real one would follow)');
await writeFile(notes, '# Notes\nThe meeting is on Friday.');

const llmModel = new ScriptedModel(['The report is late, and the meeting is on Friday.'], { provider: 'anthropic' });
await using agent = new PocketAgent({ llmModel });

console.log(
  await agent.run({
    text: 'Summarise these.',
    files: [{ path: report }, { path: notes }, { data: Buffer.from('day,hours\nMon,7'), name: 'hours.csv' }],
  }),
);

// text files become text, so every model can read them
const [question] = llmModel.calls[0]?.prompt ?? [];
assert.deepEqual(question?.role === 'user' && question.content.map((part) => part.type), [
  'text',
  'file',
  'text',
  'text',
]);
assert.match(JSON.stringify(question), /\[file notes\.md\]/);

// Anthropic accepts no audio: the run fails before the request, and the history does not change
const before = agent.messages.length;
const failure = await agent
  .run({ text: 'What is said here?', files: [{ data: Buffer.from('ID3 music'), mediaType: 'audio/mpeg' }] })
  .catch((error: unknown) => error);
assert.ok(isPocketError(failure, 'FILE_UNSUPPORTED'));
console.log(failure.message);
assert.equal(agent.messages.length, before);
assert.equal(llmModel.calls.length, 1);
await rm(folder, { recursive: true });
