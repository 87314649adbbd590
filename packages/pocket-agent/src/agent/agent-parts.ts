// Shared by the parts of one agent: its loop, model, tools, run queue and MCP client.
import type { AccessRules } from '../access/access-rules.ts';
import type { Ledger } from '../cost/ledger.ts';
import type { History } from '../history/history.ts';
import type { AgentSettings, NestedAgentOptions } from './agent-config.ts';

export interface AgentParts {
  options: NestedAgentOptions;
  settings: AgentSettings;
  history: History;
  ledger: Ledger;
  access: AccessRules;
}
