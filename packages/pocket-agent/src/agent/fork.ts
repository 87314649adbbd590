// Forks: new agents of the same class and options, each with its own conversation.
import { checkValue, OptionSet, objectRule, withoutUndefined } from '@pocket-agent/kit';
import type { AccessRules } from '../access/access-rules.ts';
import type { PocketAgentClient } from '../mcp/client.ts';
import { isFunctionTool } from '../tools/function-tool.ts';
import { withoutClose } from '../tools/tool-source.ts';
import type { PocketAgent } from './agent.ts';
import type { AgentConfig, PocketAgentOptions } from './agent-config.ts';
import type { AgentParts } from './agent-parts.ts';

/** Without a change, a fork has the model of its agent, and begins with the messages that its agent began with. */
export type ForkChanges = Partial<Pick<AgentConfig, 'llmModel' | 'messages'>>;

const forkChanges = new OptionSet<ForkChanges>('fork', { llmModel: true, messages: true });

/** The parts that a fork shares with its agent. */
export interface ForkOrigin {
  access: AccessRules;
  client: PocketAgentClient;
}

/** The key of the origin among the options. A symbol is not in the public types, and subclasses pass it on. */
const forkOrigin = Symbol('fork origin');

export function forkOriginOf(options: PocketAgentOptions & { [forkOrigin]?: ForkOrigin }): ForkOrigin | undefined {
  return options?.[forkOrigin];
}

interface ForkRequest extends Pick<AgentParts, 'options' | 'access'> {
  /** Whether the constructor of a subclass expects flat options. */
  isFlat: boolean;
  changes: ForkChanges;
}

export function forkOptions(
  agent: PocketAgent<unknown>,
  { options, access, isFlat, changes }: ForkRequest,
): PocketAgentOptions {
  // a fork uses the client of its agent, and has an id of its own
  const { mcpConfig: _mcpConfig, agentConfig, tools = [], ...others } = options;
  const { agentId: _agentId, ...config } = { ...withChanges(agentConfig, changes), name: agent.name };
  const { mcpClient } = agent;
  const forked: PocketAgentOptions = {
    ...others,
    ...(isFlat ? config : { agentConfig: config }),
    access: access.options,
    mcpClient,
    tools: tools.map((entry) => (isFunctionTool(entry) ? (entry.fork?.() ?? entry) : withoutClose(entry))),
    subAgents: agent.subAgents.map((subAgent) => subAgent.fork()),
  };
  return Object.assign(forked, { [forkOrigin]: { access, client: mcpClient } });
}

/** The settings of a model do not fit another model, and a summary belongs to the messages that it summarises. */
function withChanges(config: AgentConfig, changes: ForkChanges): AgentConfig {
  checkValue('The changes of fork()', changes, objectRule);
  forkChanges.check(changes);
  const kept = { ...config };
  if (changes.llmModel !== undefined) delete kept.modelSettings;
  if (changes.messages !== undefined) delete kept.compacted;
  return { ...kept, ...withoutUndefined(changes) };
}
