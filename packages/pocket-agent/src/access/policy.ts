// May this call be made? The policy of one run: the rules of its agent, of its parent agents, and of the run itself.
import { errorText, PocketError, snapshot } from '@pocket-agent/kit';
import type { ToolCall } from '../base/tool-call.ts';
import { withApprovalEvents } from '../tracing/tool-span.ts';
import type { AccessRules } from './access-rules.ts';
import {
  type Approve,
  ask,
  type CallToApprove,
  callHash,
  type Decision,
  needsApproval,
  type Remember,
} from './approval.ts';
import { checkArguments } from './argument-check.ts';
import { type AuditRecord, auditRecord, type CallRecord } from './audit.ts';
import { type JudgedTool, type Profile, refusalBy } from './capabilities.ts';
import { fingerprint } from './fingerprints.ts';
import { type CallVerdict, denied, type Refused } from './verdict.ts';

const DEFAULT_APPROVAL_TIMEOUT_MS = 300_000;

/** A tool and its source. */
interface CallableTool extends JudgedTool {
  /** The name that the model uses, if `name` is the name of a choice. */
  listedAs?: string;
  source: {
    readonly hasOwnSchemas?: boolean | undefined;
    group?(tool: JudgedTool['tool']): { name: string } | undefined;
  };
}

interface ApprovalContext {
  signal: AbortSignal;
  /** The run can be suspended until the answer arrives. */
  canWait: boolean;
}

interface PolicyOptions {
  rules: AccessRules;
  /** The policy of the run around this one. */
  parent: Policy | undefined;
  path: readonly string[];
  /** Profiles given with the run. */
  profiles: readonly Profile[];
  approve: Approve | undefined;
  approveFallback: Approve | undefined;
  caller: string | undefined;
}

/**
 * `#chain` is this policy and those of all runs around it: their approvers, and profiles given with a run, always apply.
 * `#binding` is the part of it up to an independent agent: only there do the rules of agents (`access`) apply.
 */
export class Policy {
  readonly rules: AccessRules;
  readonly parent: Policy | undefined;
  readonly path: readonly string[];
  readonly profiles: readonly Profile[];
  readonly approve: Approve | undefined;
  readonly approveFallback: Approve | undefined;
  readonly caller: string | undefined;
  /** No profile or filter hides a tool, as for most agents. Rules about single calls may still refuse. */
  readonly hidesNothing: boolean;
  /** Whether a call in this run may need an approval. */
  readonly mayAsk: boolean;
  readonly keepsRecords: boolean;
  #profilesHere: readonly Profile[] | undefined;

  constructor({ rules, parent, path, profiles, approve, approveFallback, caller }: PolicyOptions) {
    this.rules = rules;
    this.parent = parent;
    this.path = path;
    this.profiles = profiles;
    this.approve = approve;
    this.approveFallback = approveFallback;
    this.caller = caller;
    const hidesNothing = rules.profile === undefined && !rules.options.filter && profiles.length === 0;
    this.hidesNothing = hidesNothing && (parent?.hidesNothing ?? true);
    this.mayAsk = (rules.options.confirm ?? 'never') !== 'never' || (this.#bindingParent?.mayAsk ?? false);
    this.keepsRecords = rules.audit !== undefined || (parent?.keepsRecords ?? false);
  }

  /**
   * The reason why a tool may not be called, by the profiles and filters of this agent, its parent agents and the run. It
   * also decides which tools the model sees, and is cached: it must not depend on a call, a count or the time. A new rule here
   * must also count in `hidesNothing`.
   */
  refusal(tool: JudgedTool): string | undefined {
    if (this.hidesNothing) return undefined;
    for (const { rules } of this.#binding()) {
      const reason = rules.refusal(tool);
      if (reason !== undefined) return rules === this.rules ? reason : `${reason} (rule of a parent agent)`;
    }
    // profiles of a run also apply to its sub-agents
    for (const { profiles } of this.#chain()) {
      for (const profile of profiles) {
        const reason = refusalBy(profile, tool);
        if (reason !== undefined) return `${reason} (in this run)`;
      }
    }
    return undefined;
  }

  /**
   * The profiles that decide which tools are visible, as the key of a cache. Undefined if nothing may be cached: there is a
   * filter too, which may answer differently each time.
   */
  get cacheableProfiles(): readonly Profile[] | undefined {
    return this.#binding().some(({ rules }) => rules.options.filter) ? undefined : this.profilesHere;
  }

  /** The profiles of this agent, of its parent agents, and of the run. */
  get profilesHere(): readonly Profile[] {
    if (!this.#profilesHere) {
      const ofAgents = this.#binding().flatMap(({ rules }) => rules.profile ?? []);
      this.#profilesHere = [...ofAgents, ...this.#chain().flatMap((each) => each.profiles)];
    }
    return this.#profilesHere;
  }

  /**
   * Why this call may not be made. Runs before a person is asked and again after the answer, so it must not count calls.
   * Check a new rule about calls here, such as one about the time. `ToolTable.visibleTo` must then hide tools that the
   * provider of the model runs, and servers without a `Policy` (`tool-folder/src/serve.ts`) need their own check.
   */
  checkRules(call: ToolCall, tool: JudgedTool): Refused | undefined {
    const reason = this.refusal(tool);
    if (reason === undefined) return undefined;
    const isChoice = tool.name !== call.name; // such as a skill
    const choice = isChoice ? ` for "${tool.name}"` : '';
    const error = new PocketError('ACCESS_DENIED', `"${call.name}" may not be called here${choice}: ${reason}.`);
    // also for a filter: audit records do not tell them apart
    return { decision: 'refused', by: 'profile', reason: isChoice ? `${tool.name}: ${reason}` : reason, error };
  }

  /** Whether calls of a tool may need approval, without knowing their arguments. */
  asksAbout(tool: JudgedTool): boolean {
    return this.#binding().some(({ rules }) => needsApproval(rules.options.confirm ?? 'never', tool, {}));
  }

  /**
   * Asks for approval if this agent or a parent agent requires it, or if the tool has changed. Call it only if `mayAsk`: agents
   * without `confirm` are not asked about changes.
   */
  async checkApproval(call: ToolCall, entry: CallableTool, { signal, canWait }: ApprovalContext): Promise<CallVerdict> {
    const { name, tool, capability, listedAs = name } = entry;
    const { id: toolCallId, arguments: args } = call;
    const { fingerprints } = this.rules;
    const changed = fingerprints.hasChanged(listedAs, tool);
    const binding = new Set(this.#binding().map(({ rules }) => rules));
    const requiredBy = [...binding].filter(({ options }) => needsApproval(options.confirm ?? 'never', entry, args));
    if (requiredBy.length === 0 && !changed) return { decision: 'allowed', by: 'policy', call };
    const { description, annotations } = tool;
    const about = { tool: name, capability, description, annotations, arguments: args, toolCallId, changed };
    const server = entry.source.group?.(tool)?.name;
    const from = server === undefined ? {} : { server };
    const question = { ...about, ...from, path: this.path, ...(canWait ? { canWait } : {}) };
    // an approval covers only this version of the tool
    const version = fingerprint(tool);
    const once = JSON.stringify([callHash(question), version]);
    const always = JSON.stringify([this.path, name, version]);
    // the agent that people talk to remembers approvals, for each agent separately
    const remembered = this.#chain().at(-1)?.rules.approvalsFor(this.rules);
    if (!changed && (remembered?.has(once) || remembered?.has(always)))
      return { decision: 'allowed', by: 'memory', call };
    const origin = entry.source.hasOwnSchemas ? undefined : this.rules.checkOrigin(entry.source);
    const invalid = await checkArguments({ call, tool, origin, signal });
    if (invalid) return invalid;
    if (!this.approver) this.#warnWithoutApprover(name);
    const answer = await this.ask(question, signal);
    if (!answer.allowed) return denied(call, answer.by, answer.reason);
    if (changed) fingerprints.accept(listedAs, tool);
    const remember = answer.remember ?? shortest(requiredBy.map(({ options }) => options.remember));
    if (remember && !answer.edited) remembered?.add(remember === 'conversation' ? always : once);
    const approved = snapshot({ ...call, arguments: answer.arguments });
    return { decision: answer.edited ? 'edited' : 'approved', by: 'approver', call: approved };
  }

  /** For calls that need no approval: warns a developer who has set `approve` without `access.confirm`. */
  warnOfMissingConfirm({ name, capability, asksItself }: JudgedTool): void {
    const { rules, approve } = this;
    if (!approve || rules.options.confirm !== undefined || capability !== 'delete' || asksItself) return;
    const wayOut = `Set access.confirm to 'destructive', or to 'never' if that is intended.`;
    rules.warnOnce(
      `"${name}" can delete and was called without approval: without access.confirm, approve is not asked. ${wayOut}`,
    );
  }

  ask(about: CallToApprove, signal: AbortSignal): Promise<Decision> {
    const { approver: approve, rules } = this;
    const timeouts = this.#binding().flatMap((policy) => policy.rules.options.approvalTimeoutMs ?? []);
    const timeoutMs = timeouts.length === 0 ? DEFAULT_APPROVAL_TIMEOUT_MS : Math.min(...timeouts);
    return withApprovalEvents(about, ask({ about, approve, signal, timeoutMs, logger: rules.logger }));
  }

  /** The approver of the outermost agent that has one, because people talk to that agent. */
  get approver(): Approve | undefined {
    const { approve, approveFallback } = approversIn(this.#chain());
    return approve ?? approveFallback;
  }

  /** Text that audit records and spans leave out. */
  get redactedPatterns(): readonly RegExp[] {
    return this.#allRules().flatMap(({ options }) => options.redact ?? []);
  }

  /** The audit record of a call, written to the audit files of this agent and of its parent agents. */
  record(agentId: string, made: CallRecord): AuditRecord {
    const { caller, path, redactedPatterns: patterns } = this;
    const { logger } = this.rules;
    const record = auditRecord(made, { agentId, caller, path, patterns, logger });
    // agents that share a file write one line per call
    const files = new Map(this.#allRules().flatMap(({ audit }) => (audit ? [[audit.path, audit]] : [])));
    for (const file of files.values()) {
      file.write(record).catch((error) => logger.error(`An audit record could not be written: ${errorText(error)}`));
    }
    return record;
  }

  /**
   * What a run inherits from the finished runs that started it, up to `until`: their approvers, and their rules. The rules
   * are merged by agent, so that the chain stays short however many runs have started one another.
   */
  inheritUntil(until: Policy | undefined): Pick<PolicyOptions, 'parent' | 'approve' | 'approveFallback'> {
    const chain = this.#chain();
    const finished = until ? chain.slice(0, chain.indexOf(until)) : chain;
    const merged = new Map<AccessRules, Policy>();
    for (const each of finished) {
      const profiles = unique([...(merged.get(each.rules)?.profiles ?? []), ...each.profiles]);
      merged.set(each.rules, new Policy({ ...each, profiles, approve: undefined, approveFallback: undefined }));
    }
    const parent = [...merged.values()].reduceRight<Policy | undefined>(
      (above, each) => new Policy({ ...each, parent: above }),
      until,
    );
    return { parent, ...approversIn(finished) };
  }

  #warnWithoutApprover(tool: string): void {
    const { approverOption } = this.rules;
    const who = this.path.join(' → ');
    const text = `${who} needs an approval to call "${tool}", but has no approver: set the option "${approverOption}".`;
    this.rules.warnOnce(text);
  }

  #allRules(): AccessRules[] {
    return [...new Set(this.#chain().map(({ rules }) => rules))];
  }

  /** This policy and those of the runs around it, innermost first. */
  #chain(): Policy[] {
    const chain: Policy[] = [];
    for (let policy: Policy | undefined = this; policy; policy = policy.parent) chain.push(policy);
    return chain;
  }

  /** The policies whose rules hold here: from this one up to the first agent that is independent. */
  #binding(): Policy[] {
    const parent = this.#bindingParent;
    return parent ? [this, ...parent.#binding()] : [this];
  }

  get #bindingParent(): Policy | undefined {
    // a run inside a run of the same agent is not that of a sub-agent, so it stays bound
    const isSubAgent = this.parent?.rules !== this.rules;
    return this.rules.options.independent && isSubAgent ? undefined : this.parent;
  }
}

/** The outermost approvers of a chain. */
function approversIn(chain: readonly Policy[]): Pick<PolicyOptions, 'approve' | 'approveFallback'> {
  return {
    approve: chain.findLast(({ approve }) => approve)?.approve,
    approveFallback: chain.findLast(({ approveFallback }) => approveFallback)?.approveFallback,
  };
}

/** How long an approval lasts that several agents asked for: as long as all of them allow. */
function shortest(all: readonly (Remember | undefined)[]): Remember | undefined {
  if (all.length === 0 || all.includes(undefined)) return undefined;
  return all.includes('call') ? 'call' : 'conversation';
}

function unique(profiles: readonly Profile[]): Profile[] {
  return [...new Map(profiles.map((profile) => [JSON.stringify(profile), profile])).values()];
}
