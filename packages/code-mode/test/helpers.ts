// Small things that the tests of code mode share.
import { type CodeModeOptions, codeMode } from '@pocket-agent/code-mode';
import {
  type AgentEvent,
  type AuditRecord,
  type FunctionTool,
  PocketAgent,
  type PocketAgentOptions,
  type ToolSource,
  tool,
} from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { resultText, silent } from '../../pocket-agent/test/helpers.ts';

export interface CodeRun extends Omit<Partial<Extract<PocketAgentOptions, { llmModel: unknown }>>, 'tools'> {
  tools?: readonly FunctionTool[];
  sources?: readonly ToolSource[];
  bounds?: CodeModeOptions;
}

/** An agent whose model runs these scripts, one at a step. */
export function codingAgent(
  scripts: readonly string[],
  { tools = [], sources = [], bounds, ...options }: CodeRun = {},
) {
  const calls = scripts.map((code, index) => ({ name: 'run_code', arguments: { code }, id: `script-${index + 1}` }));
  const llmModel = new ScriptedModel([...calls.map((call) => ({ toolCalls: [call] })), 'Done.']);
  const audit: AuditRecord[] = [];
  const events: AgentEvent[] = [];
  const onEvent = (event: AgentEvent) => {
    events.push(event);
    if (event.type === 'audit') audit.push(event.data);
  };
  const agent = new PocketAgent({
    llmModel,
    name: 'Coder',
    logger: silent,
    exposure: 'code',
    hooks: { onEvent },
    tools: [...tools, ...sources, codeMode(bounds)],
    ...options,
  });
  return { agent, model: llmModel, audit, events };
}

/** What the model reads as the result of one script. */
export async function run(code: string, options?: CodeRun): Promise<string> {
  const { agent } = codingAgent([code], options);
  await agent.run('Go');
  await agent.close();
  return resultText(agent);
}

export const echo = tool({
  name: 'echo',
  description: 'Returns its arguments',
  capability: 'read',
  run: (args) => args,
});
