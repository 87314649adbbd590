// Warns once if an agent sends more tools than models handle well, and if its filter hides all of them.
import type { Logger } from '@pocket-agent/kit';
import type { ToolTable } from './tool-table.ts';

/** OpenAI refuses more. */
const MAX_TOOLS = 128;
/** About 50,000 tokens. */
const MAX_CHARACTERS = 200_000;
const CHARACTERS_PER_TOKEN = 4;

/** Agents that share a logger are forks, or belong to one program: they warn once. */
const warnedOfVolume = new WeakSet<Logger>();
const warnedOfFilter = new WeakSet<Logger>();

export function warnOfVolume(agent: string, { definitions }: ToolTable, logger: Logger): void {
  if (warnedOfVolume.has(logger)) return;
  const characters = definitions.reduce((sum, definition) => sum + JSON.stringify(definition).length, 0);
  if (definitions.length <= MAX_TOOLS && characters <= MAX_CHARACTERS) return;
  warnedOfVolume.add(logger);
  const tokens = Math.round(characters / CHARACTERS_PER_TOKEN / 1_000) * 1_000;
  const refused = definitions.length > MAX_TOOLS ? ` OpenAI refuses more than ${MAX_TOOLS}.` : '';
  logger.warn(
    `${agent} sends ${definitions.length} tools, about ${tokens.toLocaleString('en')} tokens, with every model call.${refused} Leave servers out, or narrow them with access.profile or access.filter.`,
  );
}

export function warnOfEmptyFilter(agent: string, { entries }: ToolTable, logger: Logger): void {
  if (entries.length === 0 || warnedOfFilter.has(logger)) return;
  warnedOfFilter.add(logger);
  logger.warn(
    `access.filter of ${agent} hides every tool (${entries.length}). A tool is shown if the filter returns true for it.`,
  );
}
