// Which tools the model sees at a step. Short lists of tools are shown as they are; of longer ones, the model finds the rest.
import { inSlices, type Logger } from '@pocket-agent/kit';
import type { Exposure, ExposureOption } from '../access/exposure.ts';
import type { Policy } from '../access/policy.ts';
import type { Message } from '../base/messages.ts';
import type { CompactedHistory } from '../compaction/history-view.ts';
import { contextWindowOf } from '../cost/prices.ts';
import { modelsOf } from '../model/provider-rules.ts';
import { type LanguageModel, modelName } from '../providers/model-names.ts';
import type { UnsignedEvent } from '../run/events.ts';
import { type ToolEntry, ToolTable } from '../tools/tool-table.ts';
import { MAX_TOOLS, warnOfVolume } from '../tools/tool-volume.ts';
import { describedSearch, toolSearch } from './find-tools.ts';
import { byName, exposureOf, isWithin, limitFor, planTools, type ToolPlan, tokensOf } from './tool-plan.ts';
import { type UsedTool, usedTools } from './used-tools.ts';

/** Fewer tokens are shown to every model: a search would save nothing. */
const ALWAYS_SHOWN = 1_000;

export interface ExposedTools {
  /** What the model is shown. */
  shown: ToolTable;
  /** What it may call: also tools that are deferred. */
  callable: ToolTable;
  /** Names of tools that it may not call by itself. */
  hidden: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

interface ExposureOptions {
  agent: string;
  option: ExposureOption | undefined;
  logger: Logger;
  emit(event: UnsignedEvent): void;
  conversation(): { messages: readonly Message[]; compacted: CompactedHistory | undefined };
}

interface StepTools {
  /** What the run may call. */
  table: ToolTable;
  policy: Policy;
  model: LanguageModel;
  /** A tool that the model must call. */
  required: string | undefined;
}

/** How the tools of one table are exposed. */
interface Plan extends ToolPlan {
  table: ToolTable;
  /** In tokens. */
  limit: number;
  search: ToolEntry | undefined;
  callable: ToolTable;
}

export class ToolExposure {
  /** Offers `find_tools`. It is among the tools of the agent once there is a tool to find. */
  readonly search = toolSearch(() => [...(this.#plan?.deferred.values() ?? [])]);
  readonly #options: ExposureOptions;
  #isSearchOffered = false;
  #plan: Plan | undefined;
  /** What the last event said. */
  #reported: string | undefined;
  #shown: { plan: Plan; names: string; exposed: ExposedTools } | undefined;
  /** Tables that are shown as they are. */
  readonly #plain = new WeakSet<ToolTable>();
  readonly #limits = new WeakMap<LanguageModel, { name: string; tokens: number }>();

  constructor(options: ExposureOptions) {
    this.#options = options;
  }

  /** Undefined if the tools are not simply all shown. */
  plain(table: ToolTable, policy: Policy): ExposedTools | undefined {
    if (!this.#plain.has(table)) {
      const { entries } = table;
      const isPlain =
        entries.length <= MAX_TOOLS &&
        entries.every((entry) => this.#isPlain(entry, policy)) &&
        isWithin(entries, ALWAYS_SHOWN);
      if (!isPlain) return undefined;
      this.#plain.add(table);
    }
    this.#plan = undefined;
    return { shown: table, callable: table, hidden: NONE };
  }

  /** Undefined if `find_tools` has to be offered first. */
  async expose(step: StepTools): Promise<ExposedTools | undefined> {
    const limit = await this.#limitOf(step.model);
    if (!this.#plan || !isSame(this.#plan.table, step.table) || this.#plan.limit !== limit) {
      const plan = this.#planFor(step, limit);
      if (plan.deferred.size > 0 && !this.#isSearchOffered) {
        this.#isSearchOffered = true;
        return undefined;
      }
      this.#plan = plan;
      warnOfVolume({ ...this.#options, table: new ToolTable(byName(plan.direct)) });
      await this.#report(plan);
    }
    return this.#exposedBy(this.#plan, step.required);
  }

  #isPlain(entry: ToolEntry, policy: Policy): boolean {
    const word = this.#wordFor(entry, policy);
    return (word === 'auto' || word === 'direct') && entry.source !== this.search;
  }

  #wordFor(entry: ToolEntry, policy: Policy): Exposure {
    if (entry.source === this.search) return 'direct';
    return exposureOf(entry, [...policy.profilesHere.map(({ exposure }) => exposure), this.#options.option]);
  }

  #planFor({ table, policy }: Pick<StepTools, 'table' | 'policy'>, limit: number): Plan {
    const search = table.entries.find(({ source }) => source === this.search);
    const canSearch = !this.#isSearchOffered || search !== undefined;
    const wordFor = (entry: ToolEntry) => this.#wordFor(entry, policy);
    const { direct, deferred, hidden } = planTools({ entries: table.entries, wordFor, limit, canSearch });
    const described = (entry: ToolEntry) =>
      entry === search ? Object.freeze({ ...entry, tool: describedSearch(entry.tool, [...deferred.values()]) }) : entry;
    const callable = table.entries.filter(({ name }) => !hidden.has(name));
    return {
      table,
      limit,
      search,
      // with nothing to find, there is nothing to search
      direct: deferred.size > 0 ? direct.map(described) : direct.filter((entry) => entry !== search),
      deferred,
      hidden,
      callable: hidden.size === 0 ? table : new ToolTable(byName(callable)),
    };
  }

  #exposedBy(plan: Plan, required: string | undefined): ExposedTools {
    const used = plan.search ? usedTools(this.#options.conversation(), plan.search.name) : [];
    const found = withinLimit(used, plan);
    if (required !== undefined && plan.deferred.has(required) && !found.includes(required)) found.push(required);
    const names = found.join(' ');
    if (this.#shown?.plan !== plan || this.#shown.names !== names) {
      const { direct, deferred, callable, hidden } = plan;
      const shown = new ToolTable(byName([...direct, ...found.flatMap((name) => deferred.get(name) ?? [])]));
      this.#shown = { plan, names, exposed: { shown, callable, hidden } };
    }
    return this.#shown.exposed;
  }

  async #report({ direct, deferred, hidden }: Plan): Promise<void> {
    if (deferred.size === 0 && hidden.size === 0) return;
    const names = { direct: direct.map(({ name }) => name), deferred: [...deferred.keys()], hidden: [...hidden] };
    const text = JSON.stringify(names);
    if (text === this.#reported) return;
    this.#reported = text;
    const tokens = await totalOf(direct);
    const deferredTokens = await totalOf([...deferred.values()]);
    this.#options.emit({ type: 'tools_exposed', data: { ...names, tokens, deferredTokens } });
  }

  /** A router may pass a call on to the model with the smallest window. */
  async #limitOf(model: LanguageModel): Promise<number> {
    const name = modelName(model);
    const known = this.#limits.get(model);
    if (known?.name === name) return known.tokens;
    const tokens = limitFor(await Promise.all((await modelsOf(model)).map(contextWindowOf)));
    this.#limits.set(model, { name, tokens });
    return tokens;
  }
}

async function totalOf(entries: readonly ToolEntry[]): Promise<number> {
  let tokens = 0;
  await inSlices(entries, (entry) => {
    tokens += tokensOf(entry);
  });
  return tokens;
}

/** A filter makes a new table for each step. */
function isSame(one: ToolTable, other: ToolTable): boolean {
  if (one === other) return true;
  const { entries } = one;
  return entries.length === other.entries.length && entries.every((entry, index) => entry === other.entries[index]);
}

/** The names of the tools that stay in the prompt. What the last search found stays; of others, the most used. */
function withinLimit(used: readonly UsedTool[], { deferred, limit }: Plan): string[] {
  let room = limit;
  const kept = new Set<UsedTool>();
  const byUse = used.toSorted((one, other) => Number(other.isNew) - Number(one.isNew) || other.calls - one.calls);
  for (const each of byUse) {
    const entry = deferred.get(each.name);
    if (!entry) continue;
    room -= tokensOf(entry);
    if (room >= 0 || each.isNew) kept.add(each);
  }
  return used.filter((each) => kept.has(each)).map(({ name }) => name);
}
