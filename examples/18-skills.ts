// Skills: instructions in folders, which the model loads when a task needs them. A profile can forbid a skill.
import assert from 'node:assert/strict';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const model = new ScriptedModel([
  { toolCalls: [{ name: 'load_skill', arguments: { skill: 'release-notes' } }] },
  { toolCalls: [{ name: 'read_skill_file', arguments: { skill: 'release-notes', path: 'references/example.md' } }] },
  '- Adds dark mode.',
  'There is no skill for that.',
]);
await using agent = new PocketAgent({ llmModel: model, name: 'Writer', skills: [`${import.meta.dirname}/skills`] });

console.log(await agent.run('Write release notes: dark mode, refactored the parser.'));
assert.match(JSON.stringify(agent.messages), /Begin each line with a verb/);
assert.match(JSON.stringify(agent.messages), /Fixes a crash when the folder is empty/);

const profile = { capabilities: ['read'], deny: ['skill:release-notes'] } as const;
console.log(await agent.run('Write release notes again.', { profile }));
assert.deepEqual(
  model.calls.map(({ tools = [] }) => tools.length),
  [2, 2, 2, 0], // if no skill is allowed, the tools for skills are not offered
);
