// The agent of the bot: its instructions, its tools and its limits. `npm run ask -- "question"` asks it one question.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadToolFolder } from '@pocket-agent/tool-folder';
import { type LanguageModel, PocketAgent } from 'pocket-agent';

/** Each conversation of the bot gets an agent with these options, and with the tools of Mattermost. */
export function agentOptions(llmModel: string | LanguageModel) {
  return {
    llmModel,
    name: 'my-project',
    systemPrompt: 'You answer questions about our shop. Messages start with the name of their author. Be brief.',
    tools: [loadToolFolder(inProject('tools'))],
    mcpConfig: JSON.parse(readFileSync(inProject('mcp.json'), 'utf8')),
    limits: { maxSteps: 20, timeoutMs: 120_000 },
  };
}

function inProject(path: string): string {
  return join(import.meta.dirname, path);
}

if (import.meta.main) {
  await using agent = new PocketAgent(agentOptions(process.env.MODEL ?? 'demo'));
  console.log(await agent.run(process.argv.slice(2).join(' ') || 'What can you do?'));
}
