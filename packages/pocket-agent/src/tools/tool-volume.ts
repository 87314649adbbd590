// Says once that an agent sends more tools than models handle well, that its filter hides all tools, or which tools are hidden.
import { type Logger, warnOnce } from '@pocket-agent/kit';
import type { ToolTable } from './tool-table.ts';

/** OpenAI refuses more. */
export const MAX_TOOLS = 128;
const MAX_TOKENS = 50_000;
const MAX_NAMED = 10;

interface WarnedAgent {
  /** The name of the agent. */
  agent: string;
  /** Agents that share a logger warn once: they are forks, or belong to one program. */
  logger: Logger;
}

/** `tokens`: of the definition of each tool that is sent. */
export function warnOfVolume({ agent, tokens, logger }: WarnedAgent & { tokens: readonly number[] }): void {
  const text = () => {
    const { length } = tokens;
    const sum = tokens.reduce((total, each) => total + each, 0);
    if (length <= MAX_TOOLS && sum <= MAX_TOKENS) return undefined;
    const about = Math.round(sum / 1_000) * 1_000;
    const refused = length > MAX_TOOLS ? ` OpenAI refuses more than ${MAX_TOOLS}.` : '';
    const sent = `${agent} sends ${length} tools, about ${about.toLocaleString('en')} tokens, with every model call.`;
    return `${sent}${refused} Leave servers out, narrow them with access.profile or access.filter, or let the model find them: exposure: 'auto'.`;
  };
  warnOnce({ logger, about: logger, key: 'many tools', text });
}

export function warnOfEmptyFilter({ agent, table, logger }: WarnedAgent & { table: ToolTable }): void {
  const { length } = table.entries;
  if (length === 0) return;
  const text = `access.filter of ${agent} hides every tool (${length}). A tool is shown if the filter returns true for it.`;
  warnOnce({ logger, about: logger, key: 'empty filter', text });
}

/** `allowed`: the tools of the table that the rules of the agent do not refuse. */
export function logHiddenTools({
  agent,
  table,
  allowed,
  logger,
}: WarnedAgent & { table: ToolTable; allowed: ToolTable }): void {
  const hidden = table.entries.filter(({ name }) => !allowed.find(name));
  if (hidden.length === 0) return;
  const named = hidden.slice(0, MAX_NAMED).map(({ name, capability }) => `${name} (${capability})`);
  const more = hidden.length > MAX_NAMED ? ` and ${hidden.length - MAX_NAMED} more` : '';
  const text = `access of ${agent} hides ${named.join(', ')}${more} from its model. agent.listHiddenTools() gives the reasons.`;
  warnOnce({ logger, about: logger, text, level: 'info' });
}
