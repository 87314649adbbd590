// Which tools the model sees at a step. A short list is shown whole; of a longer one, the model finds the rest.
import { configError, inSlices, type Logger } from '@pocket-agent/kit';
import type { Profile } from '../access/capabilities.ts';
import type { Exposure, ExposureOption } from '../access/exposure.ts';
import type { Policy } from '../access/policy.ts';
import type { Message } from '../base/messages.ts';
import { sameItems } from '../base/same-items.ts';
import type { CompactedHistory } from '../compaction/history-view.ts';
import { contextWindowOf } from '../cost/prices.ts';
import { fallbacksOf, modelsOf } from '../model/provider-rules.ts';
import { type LanguageModel, modelName } from '../providers/model-names.ts';
import type { UnsignedEvent } from '../run/events.ts';
import { currentRun } from '../run/run-context.ts';
import { reachable } from '../tools/inner-calls.ts';
import type { Reach } from '../tools/step-calls.ts';
import { isCaller } from '../tools/tool-source.ts';
import { type ToolEntry, ToolTable } from '../tools/tool-table.ts';
import { MAX_TOOLS, warnOfVolume } from '../tools/tool-volume.ts';
import type { Embed } from './embedder.ts';
import { describedSearch, type FoundEntry, prepareSearch, toolSearch } from './find-tools.ts';
import { byName, exposureOf, isWithin, limitFor, MAX_FOUND, planTools, type ToolPlan, tokensOf } from './tool-plan.ts';
import { type UsedTool, usedTools } from './used-tools.ts';

/** With fewer tokens, all tools are shown to every model: a search would save nothing. */
const ALWAYS_SHOWN = 1_000;

export interface ExposedTools {
  /** The tools that the model is shown. */
  shown: ToolTable;
  /** The tools that it may call: also deferred ones. */
  callable: ToolTable;
  /** Names of tools that it may not call. A hook may choose one. */
  hidden: ReadonlySet<string>;
  /** The tools that its code may call, if these are more. */
  reach: Reach | undefined;
}

const NONE: ReadonlySet<string> = new Set();

interface ExposureOptions {
  agent: string;
  option: ExposureOption | undefined;
  /** Ranks what a search finds also by meaning. */
  embed: Embed | undefined;
  logger: Logger;
  emit(event: UnsignedEvent): void;
  /** Whether one of its tools calls others for the model. */
  hasCaller: boolean;
  conversation(): { messages: readonly Message[]; compacted: CompactedHistory | undefined };
}

interface StepTools {
  /** The tools that the run may call. */
  table: ToolTable;
  policy: Policy;
  model: LanguageModel;
  /** A tool that the model must call. */
  required: string | undefined;
}

/** How the tools of one table are exposed. */
interface Plan extends ToolPlan {
  table: ToolTable;
  /** The options that apply, in order of precedence. */
  options: readonly (ExposureOption | undefined)[];
  /** The most tokens of definitions. */
  limit: number;
  search: ToolEntry | undefined;
  /** The tools that `search` finds. */
  searched: readonly FoundEntry[];
  callable: ToolTable;
  /** Names of tools that the model may not call by itself. */
  uncallable: ReadonlySet<string>;
  reach: Reach | undefined;
}

/** How a table is exposed to every run with these profiles. */
interface Settled {
  profiles: readonly Profile[];
  /** Undefined if it is the same for every limit. */
  limit: number | undefined;
  /** Undefined if it depends on the model, or on what was found so far. */
  exposed: ExposedTools | undefined;
}

/** By the policy of a run: a run that starts inside another may have fewer tools. */
const plans = new WeakMap<Policy, Plan>();
/** The most tokens of definitions, and the name for which they were computed: that of a router's model can change. */
const limits = new WeakMap<LanguageModel, { name: string; tokens: number }>();

export class ToolExposure {
  readonly #options: ExposureOptions;
  #search: ReturnType<typeof toolSearch> | undefined;
  #isSearchOffered = false;
  /** The last plan. */
  #plan: Plan | undefined;
  /** The names in the last event. */
  #reported: string | undefined;
  #shown: { plan: Plan; names: string; exposed: ExposedTools } | undefined;
  readonly #settled = new WeakMap<ToolTable, Settled>();

  constructor(options: ExposureOptions) {
    this.#options = options;
  }

  /** Offers `find_tools`. It is among the tools of the agent once there is a tool to find. */
  get search(): ReturnType<typeof toolSearch> {
    const { embed, logger } = this.#options;
    this.#search ??= toolSearch({ deferred: () => this.#searchedNow(), embed, logger });
    return this.#search;
  }

  /** The exposed tools if they are known without a new plan; otherwise undefined. */
  settled(table: ToolTable, policy: Policy, model: LanguageModel): ExposedTools | undefined {
    const { profilesHere: profiles } = policy;
    let settled = this.#settled.get(table);
    if (!settled || !sameItems(settled.profiles, profiles)) {
      const exposed = this.#isPlain(table, this.#optionsFor(policy)) ? allShown(table) : undefined;
      settled = { profiles, limit: undefined, exposed };
      this.#settled.set(table, settled);
    }
    return settled.limit === undefined || settled.limit === knownLimit(model) ? settled.exposed : undefined;
  }

  /** Undefined if `find_tools` has to be offered first. */
  async expose(step: StepTools): Promise<ExposedTools | undefined> {
    const limit = await limitOf(step.model);
    const options = this.#optionsFor(step.policy);
    let plan = this.#plan;
    if (
      // a filter makes a new table for each step, usually of the same entries
      !plan ||
      !sameItems(plan.table.entries, step.table.entries) ||
      !sameItems(plan.options, options) ||
      plan.limit !== limit
    ) {
      plan = this.#planFor({ ...step, options, limit });
      if (plan.searched.length > 0 && !this.#isSearchOffered) {
        this.#isSearchOffered = true;
        return undefined;
      }
      this.#plan = plan;
      prepareSearch(plan.searched);
      warnOfVolume({ ...this.#options, tokens: plan.direct.map(tokensOf) });
      await this.#report(plan);
    }
    plans.set(step.policy, plan);
    const exposed = this.#exposedBy(plan, step.required);
    if (plan.searched.length === 0)
      this.#settled.set(step.table, { profiles: step.policy.profilesHere, limit, exposed });
    return exposed;
  }

  /** The tools that `find_tools` searches in the run that calls it. */
  #searchedNow(): readonly FoundEntry[] {
    const run = currentRun();
    return (run && plans.get(run.policy)?.searched) ?? [];
  }

  /** The options of profiles take precedence. */
  #optionsFor(policy: Policy): Plan['options'] {
    return [...policy.profilesHere.map(({ exposure }) => exposure), this.#options.option];
  }

  /** Whether all tools are shown to every model. */
  #isPlain({ entries }: ToolTable, options: Plan['options']): boolean {
    return (
      entries.length <= MAX_TOOLS &&
      entries.every((entry) => this.#isShown(entry, options)) &&
      isWithin(entries, ALWAYS_SHOWN)
    );
  }

  #isShown(entry: ToolEntry, options: Plan['options']): boolean {
    const exposure = this.#exposureFor(entry, options);
    return (exposure === 'auto' || exposure === 'direct') && entry.source !== this.#search && !isCaller(entry.source);
  }

  #exposureFor(entry: ToolEntry, options: Plan['options']): Exposure {
    return entry.source === this.#search ? 'direct' : exposureOf(entry, options);
  }

  #planFor({ table, options, limit }: Pick<Plan, 'table' | 'options' | 'limit'>): Plan {
    const search = table.entries.find(({ source }) => source === this.#search);
    const canSearch = !this.#isSearchOffered || search !== undefined;
    const exposureFor = (entry: ToolEntry) => this.#exposureFor(entry, options);
    const { direct, deferred, code, hidden } = planTools({ entries: table.entries, exposureFor, limit, canSearch });
    if (code.size > 0) this.#checkCaller(code);
    const uncallable = code.size > 0 ? new Set([...hidden, ...code.keys()]) : hidden;
    const callable = withoutNames(table, uncallable);
    const caller = direct.find(({ source }) => isCaller(source));
    const shown = caller?.source.showCaller?.(caller.tool, {
      only: reachable([...code.values()], []),
      others: reachable(callable.entries, [caller.name]),
    });
    const found = shown?.describe
      ? [...code.values()].map((entry) => ({ ...entry, about: () => shown.describe?.(entry.name) }))
      : [];
    const searched = [...deferred.values(), ...found];
    const described = (entry: ToolEntry) => {
      if (entry === search) return Object.freeze({ ...entry, tool: describedSearch(entry.tool, searched) });
      return entry === caller && shown ? Object.freeze({ ...entry, tool: shown.tool }) : entry;
    };
    return {
      table,
      options,
      limit,
      search,
      // with nothing to find, there is nothing to search
      direct: direct.filter((entry) => entry !== search || searched.length > 0).map(described),
      deferred,
      searched,
      code,
      hidden,
      uncallable,
      callable,
      reach: caller && code.size > 0 ? { table: withoutNames(table, hidden), hidden } : undefined,
    };
  }

  #checkCaller(code: ReadonlyMap<string, ToolEntry>): void {
    if (this.#options.hasCaller) return;
    const [name] = code.keys();
    const problem = `"${name}" has the exposure "code", but ${this.#options.agent} has no tool that runs code`;
    throw configError(`${problem}: add one to tools, such as codeMode() of @pocket-agent/code-mode.`);
  }

  #exposedBy(plan: Plan, required: string | undefined): ExposedTools {
    const used = plan.search ? usedTools(this.#options.conversation(), plan.search.name) : [];
    const found = withinLimit(used, plan);
    if (required !== undefined && plan.deferred.has(required) && !found.includes(required)) found.push(required);
    const names = found.join(' ');
    if (this.#shown?.plan !== plan || this.#shown.names !== names) {
      const { direct, deferred, callable, uncallable: hidden, reach } = plan;
      const shown = new ToolTable(byName([...direct, ...found.flatMap((name) => deferred.get(name) ?? [])]));
      this.#shown = { plan, names, exposed: { shown, callable, hidden, reach } };
    }
    return this.#shown.exposed;
  }

  async #report({ direct, deferred, code, hidden }: Plan): Promise<void> {
    if (deferred.size === 0 && hidden.size === 0 && code.size === 0) return;
    const names = {
      direct: direct.map(({ name }) => name),
      deferred: [...deferred.keys()],
      code: [...code.keys()],
      hidden: [...hidden],
    };
    const text = JSON.stringify(names);
    if (text === this.#reported) return;
    this.#reported = text;
    const tokens = await totalOf(direct);
    const deferredTokens = await totalOf([...deferred.values()]);
    this.#options.emit({ type: 'tools_exposed', data: { ...names, tokens, deferredTokens } });
  }
}

/** A router may pass a call on, or fall back, to the model with the smallest window. */
async function limitOf(model: LanguageModel): Promise<number> {
  const known = knownLimit(model);
  if (known !== undefined) return known;
  const name = modelName(model);
  const models = [...(await modelsOf(model)), ...(await fallbacksOf(model))];
  const tokens = limitFor(await Promise.all(models.map(contextWindowOf)));
  limits.set(model, { name, tokens });
  return tokens;
}

function knownLimit(model: LanguageModel): number | undefined {
  const known = limits.get(model);
  return known?.name === modelName(model) ? known.tokens : undefined;
}

function allShown(table: ToolTable): ExposedTools {
  return { shown: table, callable: table, hidden: NONE, reach: undefined };
}

async function totalOf(entries: readonly ToolEntry[]): Promise<number> {
  let tokens = 0;
  await inSlices(entries, (entry) => {
    tokens += tokensOf(entry);
  });
  return tokens;
}

function withoutNames(table: ToolTable, names: ReadonlySet<string>): ToolTable {
  return names.size === 0 ? table : new ToolTable(byName(table.entries.filter(({ name }) => !names.has(name))));
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
    if (each.isNew || (room >= 0 && kept.size < MAX_FOUND)) kept.add(each);
  }
  return used.filter((each) => kept.has(each)).map(({ name }) => name);
}
