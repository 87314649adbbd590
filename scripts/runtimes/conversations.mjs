// A conversation in SQLite, for which the runtime must support `node:sqlite`.
import assert from 'node:assert/strict';
import { openConversations } from '@pocket-agent/store';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const chats = await openConversations(':memory:');
const agent = await chats.open('first', new PocketAgent({ llmModel: new ScriptedModel(['Hi!']) }));
assert.equal(await agent.run('Hello'), 'Hi!');
assert.equal((await chats.export('first')).messages.length, 2);
await agent.close();
await chats.close();
console.log('a conversation in SQLite: ok');
