// Which of an agent's tools are in every prompt, and which the model has to find.
import { type Exposure, type ExposureOption, exposureIn } from '../access/exposure.ts';
import { BYTES_PER_TOKEN, estimateTokens } from '../model/token-estimate.ts';
import { definitionOf, type ToolEntry } from '../tools/tool-table.ts';
import { MAX_TOOLS } from '../tools/tool-volume.ts';

/** Definitions may take this part of the context window before tools are deferred. */
const WINDOW_PART = 0.1;
/** The limit for models whose window is not known. */
const UNKNOWN_WINDOW_LIMIT = Math.round(20_000 / BYTES_PER_TOKEN);

/** If some are deferred: OpenAI accepts 128, and a typed run has one more for its answer. */
const MAX_DIRECT = 100;
/** The most found tools in a prompt: not fewer than one search finds. */
export const MAX_FOUND = 27;

export interface ToolPlan<Entry = ToolEntry> {
  direct: readonly Entry[];
  deferred: ReadonlyMap<string, Entry>;
  /** Only code can call them. */
  code: ReadonlyMap<string, Entry>;
  hidden: ReadonlySet<string>;
}

interface Planned<Entry> {
  entries: readonly Entry[];
  exposureFor(entry: Entry): Exposure;
  /** Tokens of definitions. */
  limit: number;
  /** Whether tools that are not shown can be found. */
  canSearch: boolean;
}

export function planTools<Entry extends ToolEntry>({
  entries,
  exposureFor,
  limit,
  canSearch,
}: Planned<Entry>): ToolPlan<Entry> {
  const { auto = [], direct = [], code = [], hidden = [] } = Object.groupBy(entries, exposureFor);
  const atOnce = [...direct, ...auto];
  const isShort = atOnce.length <= MAX_TOOLS && isWithin(atOnce, limit);
  const places = MAX_DIRECT - direct.length;
  const shown = new Set(isShort ? atOnce : [...direct, ...fitting(auto, { limit, places })]);
  const hiddenNames = new Set(hidden.map(({ name }) => name));
  const inCode = byName(code);
  const usable = entries.filter(({ name }) => !hiddenNames.has(name) && !inCode.has(name));
  return {
    direct: canSearch ? usable.filter((entry) => shown.has(entry)) : usable,
    deferred: byName(canSearch ? usable.filter((entry) => !shown.has(entry)) : []),
    code: inCode,
    hidden: hiddenNames,
  };
}

/** Tools that the program defines stay in the prompt if they can; those of servers and folders may be many. */
function fitting<Entry extends ToolEntry>(
  entries: readonly Entry[],
  { limit, places }: { limit: number; places: number },
): Entry[] {
  let room = limit;
  const own = entries.filter((entry) => !groupOf(entry)).slice(0, Math.max(0, places));
  return own.filter((entry) => {
    room -= tokensOf(entry);
    return room >= 0;
  });
}

/** The first option that mentions the tool takes precedence, then its source. */
export function exposureOf(entry: ToolEntry, options: readonly (ExposureOption | undefined)[]): Exposure {
  const { name, ownName, tool, source } = entry;
  const given = options.map((option) => exposureIn(option, [name, ownName])).find((exposure) => exposure !== undefined);
  const own = source.exposure?.(tool);
  // results and prompts refer to these tools, and those of the provider cannot be added later
  const isAlwaysShown = source.providerTool?.(tool) || (own === 'direct' && !groupOf(entry));
  if (isAlwaysShown) return given === 'hidden' ? given : 'direct';
  return given ?? own ?? 'auto';
}

/** `windows`: of the models that may answer; undefined if not known. */
export function limitFor(windows: readonly (number | undefined)[]): number {
  const limits = windows.map((window) => (window === undefined ? UNKNOWN_WINDOW_LIMIT : window * WINDOW_PART));
  return Math.round(Math.min(...limits));
}

export function byName<Entry extends ToolEntry>(entries: readonly Entry[]): Map<string, Entry> {
  return new Map(entries.map((entry) => [entry.name, entry]));
}

function groupOf({ source, tool }: ToolEntry) {
  return source.group?.(tool);
}

/** Each definition is measured once. */
export function tokensOf(entry: ToolEntry): number {
  return estimateTokens(definitionOf(entry));
}

/** Stops measuring at the limit. */
export function isWithin(entries: readonly ToolEntry[], limit: number): boolean {
  let tokens = 0;
  return entries.every((entry) => {
    tokens += tokensOf(entry);
    return tokens <= limit;
  });
}
