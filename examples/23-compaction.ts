// A long conversation: old results and messages are shortened in the prompt, and the model can read a result again.
import assert from 'node:assert/strict';
import { type AgentEvent, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const log = `${'12:00 all is well\n'.repeat(120)}12:01 disk full\n${'12:02 all is well\n'.repeat(120)}`;
const readLog = tool({ name: 'read_log', description: 'Reads the log', capability: 'read', run: () => log });
const explanation = 'The disk was full, so nothing could be written. '.repeat(45);

const llmModel = new ScriptedModel([
  { toolCalls: [{ name: 'read_log', id: 'log' }] },
  explanation,
  // the result has been replaced by a line that says how to read it again
  ({ prompt }) => {
    assert.match(JSON.stringify(prompt), /left out to save space; read_result with the id .{1,2}log/);
    return { toolCalls: [{ name: 'read_result', arguments: { id: 'log', search: 'DISK' } }] };
  },
  explanation,
  'Notes: the disk was full at 12:01.', // the summary of the older messages
  ({ prompt }) => {
    assert.match(JSON.stringify(prompt), /Notes: the disk was full at 12:01\./);
    assert.doesNotMatch(JSON.stringify(prompt), /What does the log say/);
    return 'At 12:01.';
  },
]);
await using agent = new PocketAgent({
  llmModel,
  tools: [readLog],
  compaction: { at: 1_600, keep: 900 }, // tokens; by default 80 % and 30 % of the context window
});

const onEvent = ({ type, data }: AgentEvent) => void (type === 'compacted' && console.log(data));
await agent.run('What does the log say?', { onEvent });
await agent.run('What are the exact words?', { onEvent });
assert.match(JSON.stringify(agent.messages.at(-2)), /12:01 disk full/);
assert.equal(await agent.run('And when was that?', { onEvent }), 'At 12:01.');

// the history itself is complete
assert.match(JSON.stringify(agent.messages), /What does the log say.*12:02 all is well/);
