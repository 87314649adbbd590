// Many tools: the prompt has only a few of them, and the model finds the others with find_tools.
import assert from 'node:assert/strict';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const things = ['invoice', 'customer', 'shipment', 'contract', 'ticket', 'calendar event', 'photo', 'song'];
const actions = ['create', 'list', 'update', 'archive'];
const many = things.flatMap((thing) =>
  actions.map((action) =>
    tool({
      name: `${action}_${thing.replaceAll(' ', '_')}`,
      description: `Use it to ${action} a ${thing}. ${`Needs the id of the ${thing}. `.repeat(30)}`,
      capability: action === 'list' ? 'read' : 'write',
      run: () => `${action} ${thing}: done`,
    }),
  ),
);

const model = new ScriptedModel([
  { toolCalls: [{ name: 'find_tools', arguments: { query: 'make a new appointment', limit: 2 } }] },
  { toolCalls: [{ name: 'create_calendar_event' }] },
  'You have an appointment.',
  { toolCalls: [{ name: 'find_tools', arguments: { query: 'make a new appointment' } }] },
  'I may only read here.',
]);
await using agent = new PocketAgent({
  llmModel: model,
  tools: many,
  exposure: 'deferred',
  hooks: {
    onEvent: ({ type, data }) => {
      if (type !== 'tools_exposed') return;
      console.log(
        `${data.deferred.length} tools deferred: ${data.tokens} tokens instead of ${data.tokens + data.deferredTokens}`,
      );
      assert.ok(data.tokens < 0.1 * data.deferredTokens);
    },
  },
});

console.log(await agent.run('Please book an appointment.'));
const names = model.calls.map(({ tools = [] }) => tools.map(({ name }) => name));
assert.deepEqual(names[0], ['find_tools']);
assert.ok(names[1]?.includes('create_calendar_event'));
assert.match(JSON.stringify(agent.messages), /create calendar event: done/);

// a run cannot find tools that it may not call
console.log(await agent.run('And another one.', { profile: 'reader' }));
const last = JSON.stringify(agent.messages.at(-2));
assert.match(last, /list_/);
assert.doesNotMatch(last, /create_|update_|archive_/);
