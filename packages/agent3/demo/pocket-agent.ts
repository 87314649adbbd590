// A PocketAgent that finds, calls and rates an agent. Its model is scripted, so it needs no key.
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

type Prompt = ScriptedModel['calls'][number]['prompt'];

interface Server {
  command: string;
  args: string[];
  env: Record<string, string>;
}

interface Result {
  agents?: { id: string; name: string }[];
  result?: { text: string };
  reputation?: number;
}

/** Returns a log of what it did. */
export async function runPocketAgent(agent3: Server): Promise<string[]> {
  const lines: string[] = [];
  const step = (name: string, args: Record<string, unknown>) => {
    lines.push(`${name} ${JSON.stringify(args)}`);
    return { toolCalls: [{ name, arguments: args }] };
  };
  let agentId = '';
  const llmModel = new ScriptedModel([
    () => step('agent3_search', { query: 'who forecasts the weather?', limit: 1 }),
    ({ prompt }) => {
      const [found] = lastResult(prompt).agents ?? [];
      lines.push(`  → ${found?.name}`);
      agentId = found?.id ?? '';
      return step('agent3_call', { agentId, message: 'The weather in Lisbon, please' });
    },
    ({ prompt }) => {
      lines.push(`  → ${lastResult(prompt).result?.text}`);
      return step('agent3_feedback', { agentId, rating: 4, feedback: 'Quick and short' });
    },
    ({ prompt }) => `I called it and rated it; its reputation is ${lastResult(prompt).reputation} now.`,
  ]);
  await using agent = new PocketAgent({
    agentConfig: { llmModel, name: 'Traveller' },
    mcpConfig: { mcpServers: { agent3 } },
  });
  const answer = await agent.run('What will the weather be in Lisbon?');
  return [...lines, `  → ${answer}`];
}

function lastResult(prompt: Prompt): Result {
  const part = prompt.findLast((message) => message.role === 'tool')?.content[0];
  if (part?.type !== 'tool-result') throw new Error('The prompt has no tool result');
  const { output } = part;
  if (output.type !== 'text') throw new Error(`The call failed: ${JSON.stringify(output)}`);
  return JSON.parse(output.value);
}
