// A loop of your own: override `run` and call `step`.
import assert from 'node:assert/strict';
import { PocketAgent, textOf } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

/** Writes a draft, revises it, and returns both. */
class Reviewer extends PocketAgent<{ draft: string; final: string }> {
  override async run(input: string) {
    this.addUserMessage(input);
    const draft = await this.step({ temperature: 1 });
    this.addUserMessage('Now make it shorter.');
    const final = await this.step({ temperature: 0 });
    return { draft: textOf(draft.llmMessage), final: textOf(final.llmMessage) };
  }
}

await using agent = new Reviewer({
  llmModel: new ScriptedModel(['A very long sentence about the sea.', 'The sea.']),
  name: 'Reviewer',
});
const { draft, final } = await agent.run('Describe the sea.');
console.log(`${draft}\n→ ${final}`);

assert.equal(final, 'The sea.');
