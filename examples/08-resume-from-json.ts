// A conversation is plain JSON: save it to a file, and continue it in another process or with another model.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const folder = await mkdtemp(join(tmpdir(), 'pocket-agent-'));
const file = join(folder, 'conversation.json');

{
  const llmModel = new ScriptedModel(['Nice to meet you, Ada.']);
  await using agent = new PocketAgent({ llmModel });
  await agent.run('My name is Ada.');
  await writeFile(file, JSON.stringify(agent.messages));
}

const llmModel = new ScriptedModel([
  ({ prompt }) => (JSON.stringify(prompt).includes('Ada') ? 'You are Ada.' : 'I do not know.'),
]);
await using agent = new PocketAgent({ llmModel, messages: JSON.parse(await readFile(file, 'utf8')) });
const answer = await agent.run('Who am I?');
console.log(answer);
await rm(folder, { recursive: true });

assert.equal(answer, 'You are Ada.');
assert.equal(agent.messages.length, 4);
