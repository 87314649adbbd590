// An agent as a tool: `{name}-message` with one `message`, called in process.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { PocketError } from '@pocket-agent/kit';
import { validToolName } from '../base/tool-names.ts';
import { type FunctionTool, functionTools, type ToolReturn, toCallToolResult } from './function-tool.ts';
import type { ToolCallContext, ToolSource } from './tool-source.ts';

/** An agent that can be called as a tool. */
interface CallableAgent {
  readonly name: string;
  readonly roleDescription: string | undefined;
  run(message: string, options: { signal: AbortSignal }): Promise<unknown>;
  fork(): CallableAgent;
}

export function messageTool(agent: CallableAgent): Tool {
  const purpose = agent.roleDescription ? ` Purpose of the ${agent.name} agent: ${agent.roleDescription}` : '';
  return {
    name: validToolName(`${agent.name}-message`),
    description: `Send a message to the ${agent.name} agent.${purpose}`,
    inputSchema: {
      type: 'object',
      properties: { message: { type: 'string', description: `The message to send to the ${agent.name} agent` } },
      required: ['message'],
      additionalProperties: false,
    },
  };
}

export function agentTool(agent: CallableAgent): FunctionTool {
  const definition = messageTool(agent);
  return {
    definition,
    call: (args, context) => callAgent(agent, args, context),
    fork: () => agentTool(agent.fork()),
    // a sub-agent has no more rights than its caller, so calling it needs none
    judgement: { capability: 'read', from: 'sub-agent' },
  };
}

export function subAgentTools(agents: readonly CallableAgent[]): ToolSource {
  return functionTools(agents.map(agentTool), 'sub-agents');
}

async function callAgent(
  agent: CallableAgent,
  args: Record<string, unknown>,
  context: ToolCallContext,
): Promise<CallToolResult> {
  const { message } = args;
  if (typeof message !== 'string') {
    throw new PocketError(
      'TOOL_ARGUMENTS_INVALID',
      `The ${agent.name} agent needs a string "message", got ${JSON.stringify(message)}.`,
    );
  }
  return agentResult(agent.name, await agent.run(message, { signal: context.signal }));
}

/** The return value of a `run()` as an MCP result: a string, an object, nothing, or a complete result. */
export function agentResult(name: string, answer: unknown): CallToolResult {
  const isPlain = typeof answer === 'object' && !Array.isArray(answer);
  if (typeof answer === 'string' || answer === undefined || isPlain) return toCallToolResult(answer as ToolReturn);
  throw new PocketError(
    'TOOL_FAILED',
    `run() of the ${name} agent must return a string, an object, a tool result or nothing.`,
  );
}
