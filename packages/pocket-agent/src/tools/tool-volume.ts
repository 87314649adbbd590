// Warns of more tools than models take well, since all of them go out with every model call, and of a filter that
// hides all.
import type { Logger } from '@pocket-agent/kit';
import type { ToolTable } from './tool-table.ts';

/** OpenAI refuses more. */
const MOST_TOOLS = 128;
/** About 50,000 tokens. */
const MOST_CHARACTERS = 200_000;
const CHARACTERS_FOR_A_TOKEN = 4;

/** Agents that share a logger are forks, or belong to one program: warn once. */
const told = new WeakSet<Logger>();

export function warnOfVolume(agent: string, { definitions }: ToolTable, logger: Logger): void {
  if (told.has(logger)) return;
  const characters = definitions.reduce((sum, definition) => sum + JSON.stringify(definition).length, 0);
  if (definitions.length <= MOST_TOOLS && characters <= MOST_CHARACTERS) return;
  told.add(logger);
  const tokens = Math.round(characters / CHARACTERS_FOR_A_TOKEN / 1_000) * 1_000;
  const refused = definitions.length > MOST_TOOLS ? ` OpenAI refuses more than ${MOST_TOOLS}.` : '';
  logger.warn(
    `${agent} sends ${definitions.length} tools, about ${tokens.toLocaleString('en')} tokens, with every model call.${refused} Leave servers out, or narrow them with access.profile or access.filter.`,
  );
}

const toldOfFilter = new WeakSet<Logger>();

export function warnOfEmptyFilter(agent: string, { entries }: ToolTable, logger: Logger): void {
  if (entries.length === 0 || toldOfFilter.has(logger)) return;
  toldOfFilter.add(logger);
  logger.warn(
    `access.filter of ${agent} hides every tool (${entries.length}). A tool is shown if the filter returns true for it.`,
  );
}
