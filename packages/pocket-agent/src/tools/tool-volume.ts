// Warns once if an agent sends more tools than models handle well, and if its filter hides all of them.
import { type Logger, warnOnce } from '@pocket-agent/kit';
import type { ToolTable } from './tool-table.ts';

/** OpenAI refuses more. */
export const MAX_TOOLS = 128;
/** About 50,000 tokens. */
const MAX_CHARACTERS = 200_000;
const CHARACTERS_PER_TOKEN = 4;

interface Checked {
  /** The name of the agent. */
  agent: string;
  table: ToolTable;
  /** Agents that share a logger are forks, or belong to one program: they warn once. */
  logger: Logger;
}

export function warnOfVolume({ agent, table, logger }: Checked): void {
  const { definitions } = table;
  const text = () => {
    const characters = definitions.reduce((sum, definition) => sum + JSON.stringify(definition).length, 0);
    if (definitions.length <= MAX_TOOLS && characters <= MAX_CHARACTERS) return undefined;
    const tokens = Math.round(characters / CHARACTERS_PER_TOKEN / 1_000) * 1_000;
    const refused = definitions.length > MAX_TOOLS ? ` OpenAI refuses more than ${MAX_TOOLS}.` : '';
    const sent = `${agent} sends ${definitions.length} tools, about ${tokens.toLocaleString('en')} tokens, with every model call.`;
    return `${sent}${refused} Leave servers out, narrow them with access.profile or access.filter, or let the model find them: exposure: 'auto'.`;
  };
  warnOnce({ logger, about: logger, key: 'many tools', text });
}

export function warnOfEmptyFilter({ agent, table, logger }: Checked): void {
  const { length } = table.entries;
  if (length === 0) return;
  const text = `access.filter of ${agent} hides every tool (${length}). A tool is shown if the filter returns true for it.`;
  warnOnce({ logger, about: logger, key: 'empty filter', text });
}
