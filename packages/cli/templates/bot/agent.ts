// The agent of the bot: its instructions, its tools and its limits. `npm run ask -- "question"` asks it one question.
import { join } from 'node:path';
import { loadToolFolder } from '@pocket-agent/tool-folder';
import { type LanguageModel, PocketAgent } from 'pocket-agent';
import { readJson, runProgram } from './program.ts';

/** Each conversation of the bot gets an agent with these options, and with the tools of Mattermost. */
export function agentOptions(llmModel: string | LanguageModel) {
  return {
    llmModel,
    name: 'my-project',
    systemPrompt: 'You answer questions about our shop. Messages start with the name of their author. Be brief.',
    tools: [loadToolFolder(inProject('tools'))],
    mcpConfig: readJson(inProject('mcp.json')),
    limits: { maxSteps: 20, timeoutMs: 120_000 },
  };
}

function inProject(path: string): string {
  return join(import.meta.dirname, path);
}

/** For `npm run eval`. */
export const agents = { 'my-project': () => new PocketAgent(agentOptions(process.env.MODEL ?? 'demo')) };

async function ask(): Promise<void> {
  await using agent = new PocketAgent(agentOptions(process.env.MODEL ?? 'demo'));
  console.log(await agent.run(process.argv.slice(2).join(' ') || 'What can you do?'));
}

if (import.meta.main) await runProgram(ask);
