// fork(): a new conversation with the options of an agent, and what it may have of its own.
import { expect, test } from 'vitest';
import { PocketAgent } from '../../src/index.ts';
import { ScriptedModel } from '../../src/testing.ts';

function promptTexts({ calls }: ScriptedModel, index: number): unknown[] {
  return (calls[index]?.prompt ?? []).flatMap(({ content }) =>
    typeof content === 'string' ? [content] : content.map((part) => ('text' in part ? part.text : part.type)),
  );
}

test('a fork goes on from any point of another conversation', async () => {
  const llmModel = new ScriptedModel(['First.', 'Second.', 'Another second.']);
  await using agent = new PocketAgent({ llmModel, systemPrompt: 'Be brief.' });
  await agent.run('One');
  await agent.run('Two');
  await using branch = agent.fork({ messages: agent.messages.slice(0, 2) });
  expect(await branch.run('Other two')).toBe('Another second.');
  expect(promptTexts(llmModel, 2)).toEqual(['Be brief.', 'One', 'First.', 'Other two']);
  expect(agent.messages).toHaveLength(4);
});

test('a fork can ask another model, without the settings of the first', async () => {
  const other = new ScriptedModel(['From the other.']);
  await using agent = new PocketAgent({ llmModel: 'openai/gpt-5', modelSettings: { apiKey: 'x' } });
  await using fork = agent.fork({ llmModel: other });
  expect(await fork.run('Hello')).toBe('From the other.');
  expect(await fork.languageModel()).toBe(other);
  expect(fork.name).toBe(agent.name);
});

test('a fork of a subclass keeps its type and takes the changes', async () => {
  class Friendly extends PocketAgent {
    greeting = 'Hello';
  }
  await using agent = new Friendly({ llmModel: new ScriptedModel([]) });
  await using fork = agent.fork({ llmModel: new ScriptedModel(['Changed.']) });
  expect(fork.greeting).toBe('Hello');
  expect(await fork.run('Hi')).toBe('Changed.');
});

test('a misspelt change is an error', () => {
  const agent = new PocketAgent({ llmModel: 'demo' });
  // @ts-expect-error misspelt
  expect(() => agent.fork({ mesages: [] })).toThrow('fork has no option "mesages". Did you mean "messages"?');
});
