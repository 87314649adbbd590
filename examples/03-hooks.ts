// Hooks change a run: they deny a call, correct arguments and rewrite an error message.
import assert from 'node:assert/strict';
import { AgentHooks, type HookContext, PocketAgent, type ToolCall, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { z } from 'zod';

const path = z.object({ path: z.string() });
const readNote = tool({
  name: 'read_note',
  description: 'Reads a note',
  inputSchema: path,
  run: (args) => `note at ${args.path}`,
});
const deleteNote = tool({
  name: 'delete_note',
  description: 'Deletes a note',
  inputSchema: path,
  run: () => 'deleted',
});

class Careful extends AgentHooks {
  steps = 0;

  override preStep({ metadata }: HookContext): void {
    metadata.startedAt = performance.now();
    this.steps++;
  }

  override postStep({ metadata, agent }: HookContext): void {
    const ms = performance.now() - Number(metadata.startedAt);
    console.log(`${agent.name}: step ${this.steps} took ${ms.toFixed(1)} ms`);
  }

  override preToolCall(_context: HookContext, call: ToolCall) {
    if (call.name === 'delete_note') return { deny: 'notes must not be deleted' };
    return { ...call, arguments: { path: `/notes/${call.arguments.path}` } };
  }

  override onToolError(_context: HookContext, call: ToolCall, error: Error): string {
    return `${call.name} failed (${error.message}). Try another tool.`;
  }
}

// a scripted model, so that this example always runs the same way
const llmModel = new ScriptedModel([
  {
    toolCalls: [
      { name: 'read_note', arguments: { path: 'todo' } },
      { name: 'delete_note', arguments: { path: 'todo' } },
      { name: 'shred_note', arguments: { path: 'todo' } },
    ],
  },
  'I read the note, but I may not delete it.',
]);
const hooks = new Careful();
await using agent = new PocketAgent({
  llmModel,
  name: 'Librarian',
  tools: [readNote, deleteNote],
  hooks,
});

console.log(await agent.run('Read the todo note, then delete it.'));

const history = JSON.stringify(agent.messages);
assert.match(history, /note at \/notes\/todo/);
assert.match(history, /denied: notes must not be deleted/);
assert.match(history, /shred_note failed/);
assert.equal(hooks.steps, 2);
