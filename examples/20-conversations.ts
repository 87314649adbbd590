// Conversations in a database: a later process continues one, and the agent remembers facts for each user.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConversations } from '@pocket-agent/store';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const folder = await mkdtemp(join(tmpdir(), 'pocket-agent-'));
const database = join(folder, 'conversations.sqlite'); // or postgres://…, for several machines

{
  await using chats = await openConversations(database);
  const llmModel = new ScriptedModel([
    { toolCalls: [{ name: 'remember', arguments: { text: 'Ada is allergic to nuts.' } }] },
    'I will keep that in mind.',
  ]);
  await using agent = new PocketAgent({ llmModel, memory: true });
  // each step is saved, so a process that is killed here loses nothing
  await using chat = await chats.forOwner('ada').open('dinner', agent);
  await chat.run('I am allergic to nuts. What shall we cook?');
}

// as if in another process
await using chats = await openConversations(database);
const ada = chats.forOwner('ada');
const llmModel = new ScriptedModel([
  ({ prompt }) => `There are ${prompt.length} messages so far.`,
  { toolCalls: [{ name: 'recall', arguments: { query: 'nuts' } }] },
  'No nuts, of course.',
]);
await using agent = new PocketAgent({ llmModel, memory: true });

await using dinner = await ada.open('dinner', agent);
assert.equal(await dinner.run('Are you still there?'), 'There are 5 messages so far.');

// a new conversation knows the facts, but not the messages
await using lunch = await ada.open('lunch', agent);
console.log(await lunch.run('What shall we have for lunch?'));
assert.match(JSON.stringify(lunch.messages), /Ada is allergic to nuts\./);

const { conversations } = await ada.list();
for (const { id, title, messages } of conversations) console.log(`${id}: ${title} (${messages} messages)`);
assert.deepEqual(
  conversations.map(({ id }) => id),
  ['lunch', 'dinner'],
);
assert.deepEqual((await chats.forOwner('ben').list()).conversations, []);

// Ada can list and erase what is known about her
assert.equal((await ada.memory.list()).length, 1);
assert.equal(await ada.memory.erase(), 1);
await chats.close();
await rm(folder, { recursive: true });
