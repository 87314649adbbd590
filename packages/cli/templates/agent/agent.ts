// The agent: its instructions, its tools and its limits. `npm run ask -- "question"` asks it one question.
import { join } from 'node:path';
import { loadToolFolder } from '@pocket-agent/tool-folder';
import { type LanguageModel, PocketAgent, type Router } from 'pocket-agent';
import { openModel } from './model.ts';
import { readJson, runProgram } from './program.ts';

export interface AgentModel {
  llmModel: string | LanguageModel;
  router?: Router;
}

export function createAgent(model: AgentModel): PocketAgent {
  return new PocketAgent({
    ...model,
    name: 'my-project',
    roleDescription: 'Answers questions about the shop',
    systemPrompt: 'You answer questions about our shop. Use the tools, and be brief.',
    tools: [loadToolFolder(inProject('tools'))],
    mcpConfig: readJson(inProject('mcp.json')),
    limits: { maxSteps: 20, timeoutMs: 120_000 },
  });
}

function inProject(path: string): string {
  return join(import.meta.dirname, path);
}

/** For `npm run eval`. */
export const agents = { 'my-project': () => createAgent({ llmModel: process.env.MODEL ?? 'demo' }) };

async function ask(): Promise<void> {
  const model = openModel();
  await using agent = createAgent(model);
  console.log(await agent.run(process.argv.slice(2).join(' ') || 'What can you do?'));
  await model.router?.close();
}

if (import.meta.main) await runProgram(ask);
