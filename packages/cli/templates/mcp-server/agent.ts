// An agent that uses the server like any MCP client, through mcp.json. `npm run ask -- "question"` asks it one question.
import { join } from 'node:path';
import { type LanguageModel, PocketAgent } from 'pocket-agent';
import { readJson, runProgram } from './program.ts';

export function createAgent(llmModel: string | LanguageModel): PocketAgent {
  return new PocketAgent({
    llmModel,
    name: 'tester',
    systemPrompt: 'You answer questions about our shop. Use the tools, and be brief.',
    mcpConfig: readJson(join(import.meta.dirname, 'mcp.json')),
    limits: { maxSteps: 20, timeoutMs: 120_000 },
  });
}

/** For `npm run eval`. */
export const agents = { 'my-project': () => createAgent(process.env.MODEL ?? 'demo') };

async function ask(): Promise<void> {
  await using agent = createAgent(process.env.MODEL ?? 'demo');
  console.log(await agent.run(process.argv.slice(2).join(' ') || 'What can you do?'));
}

if (import.meta.main) await runProgram(ask);
