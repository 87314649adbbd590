// Agent3 in a program: register an agent, find it by what it can do, call it, and rate it with the receipt of the call.
import assert from 'node:assert/strict';
import '@pocket-agent/a2a'; // adds asA2aServer()
import { openAgent3 } from '@pocket-agent/agent3';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

await using poet = new PocketAgent({
  llmModel: new ScriptedModel(['Roses are red.']),
  name: 'Poet',
  roleDescription: 'Writes short poems about anything',
});
const server = poet.asA2aServer();
const { cardUrl } = await server.listen();

const agent3 = await openAgent3({ file: ':memory:', allowHosts: ['127.0.0.1'] });
const me = { id: 'me' };
try {
  const { id } = await agent3.register({ cardUrl, tags: ['poetry'], price: { perCall: 0.01, currency: 'USD' } }, me);

  const { agents } = await agent3.search({ query: 'someone who writes poems', limit: 3 });
  console.log(agents.map(({ name, description }) => `${name}: ${description}`));

  const answer = await agent3.call({ agentId: id, message: 'A line, please.', metadata: { maxCost: 0.02 } }, me);
  console.log(answer.result?.text, answer.metadata); // the text comes from a third party: `untrusted`

  const rating = { agentId: id, rating: 5, feedback: 'Short and sweet', receipt: answer.receipt ?? '' };
  console.log(await agent3.feedback(rating, me));

  assert.equal(agents[0]?.id, id);
  assert.equal(answer.result?.text, 'Roses are red.');
  assert.equal(answer.metadata.cost, 0.01);
  await assert.rejects(agent3.feedback(rating, me), { code: 'ALREADY_RATED' });
} finally {
  await agent3.close();
  await server.close();
}
