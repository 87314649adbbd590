// An agent as a tool: `{name}-message` with one `message`, called in process.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { errorText, PocketError } from '@pocket-agent/kit';
import { validToolName } from '../base/tool-names.ts';
import type { JsonSchema } from '../base/value-schema.ts';
import { structuredAnswer } from '../output/answer-schema.ts';
import {
  type CalledAgent,
  type FunctionTool,
  functionTools,
  type ToolReturn,
  toCallToolResult,
} from './function-tool.ts';
import { textResult } from './tool-result.ts';
import type { ToolCallContext, ToolSource } from './tool-source.ts';

/** An agent that can be called as a tool. */
interface CallableAgent extends CalledAgent {
  readonly roleDescription: string | undefined;
  /** The JSON Schema of its answers, if they are values instead of text. */
  readonly outputSchema?: JsonSchema | undefined;
  run(message: string, options: { signal: AbortSignal }): Promise<unknown>;
  runForCall?(message: string, options: { signal: AbortSignal; callId: string }): Promise<unknown>;
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
    ...(agent.outputSchema ? { outputSchema: agent.outputSchema as Tool['outputSchema'] } : {}),
  };
}

export function agentTool(agent: CallableAgent): FunctionTool {
  const definition = messageTool(agent);
  return {
    definition,
    call: (args, context) => callAgent(agent, args, context),
    fork: () => agentTool(agent.fork()),
    agent,
    // a sub-agent has no more rights than its caller, so calling it needs no right of its own
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
  const { signal, canResume, toolCallId: callId } = context;
  const run =
    canResume && agent.runForCall ? agent.runForCall(message, { signal, callId }) : agent.run(message, { signal });
  return agentResult(agent, await run);
}

/** The return value of a `run()` as an MCP result: a value of `output`, a string, an object, nothing, or a complete result. */
export function agentResult(
  { name, outputSchema }: Pick<CallableAgent, 'name' | 'outputSchema'>,
  answer: unknown,
): CallToolResult {
  if (outputSchema) return typedResult(name, outputSchema, answer);
  const isPlain = typeof answer === 'object' && !Array.isArray(answer);
  if (typeof answer === 'string' || answer === undefined || isPlain) return toCallToolResult(answer as ToolReturn);
  throw new PocketError(
    'TOOL_FAILED',
    `run() of the ${name} agent must return a string, an object, a tool result or nothing.`,
  );
}

function typedResult(name: string, outputSchema: JsonSchema, answer: unknown): CallToolResult {
  const json = jsonOf(name, answer);
  const value: unknown = JSON.parse(json);
  const structuredContent = structuredAnswer(outputSchema, value);
  if (structuredContent) return { ...textResult(typeof value === 'string' ? value : json), structuredContent };
  throw new PocketError('TOOL_FAILED', `run() of the ${name} agent must return an object, as its output says.`);
}

function jsonOf(name: string, answer: unknown): string {
  try {
    return JSON.stringify(answer) ?? 'null';
  } catch (error) {
    const text = `The answer of the ${name} agent cannot be written as JSON: ${errorText(error)}`;
    throw new PocketError('TOOL_FAILED', text, { cause: error });
  }
}
