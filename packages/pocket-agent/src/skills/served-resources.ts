// The resources that clients of a served agent may list and read, under the same rules as its tools.
import type { ReadResourceResult, ResourceTemplateType } from '@modelcontextprotocol/client';
import type { AccessRules } from '../access/access-rules.ts';
import type { Approve } from '../access/approval.ts';
import type { CallRecord } from '../access/audit.ts';
import type { JudgedTool, Profile } from '../access/capabilities.ts';
import { Policy } from '../access/policy.ts';
import { type CallVerdict, denied } from '../access/verdict.ts';
import type { ToolCall } from '../base/tool-call.ts';
import type { SourceResource, ToolSource } from '../tools/tool-source.ts';

/** On whose behalf resources are listed or read. */
export interface ResourceCaller {
  profiles: readonly Profile[];
  caller: string | undefined;
  signal: AbortSignal;
}

interface Owner {
  readonly name: string;
  readonly agentId: string;
  readonly approve: Approve | undefined;
}

interface FoundResource {
  source: ToolSource;
  resource: SourceResource;
}

export class ServedResources {
  readonly #agent: Owner;
  readonly #rules: AccessRules;
  readonly #sources: readonly ToolSource[];

  constructor(agent: Owner, rules: AccessRules, sources: readonly ToolSource[]) {
    this.#agent = agent;
    this.#rules = rules;
    this.#sources = sources.filter(({ resources }) => resources);
  }

  /** Whether no source has resources. */
  get isEmpty(): boolean {
    return this.#sources.length === 0;
  }

  /** If several resources have one URI, the first counts, as in `read`. */
  async list(from: ResourceCaller): Promise<SourceResource[]> {
    const policy = this.#policy(from);
    const lists = await Promise.all(this.#sources.map(({ resources }) => resources?.list() ?? []));
    const first = new Map<string, SourceResource>();
    for (const each of lists.flat()) if (!first.has(each.resource.uri)) first.set(each.resource.uri, each);
    return [...first.values()].filter(({ judged }) => !policy.refusal(judged));
  }

  async templates(): Promise<ResourceTemplateType[]> {
    const lists = await Promise.all(this.#sources.map(({ resources }) => resources?.templates() ?? []));
    return lists.flat();
  }

  /** Undefined if there is no such resource, or rules hide it. Throws if approval is denied. */
  async read(uri: string, from: ResourceCaller): Promise<ReadResourceResult | undefined> {
    const found = await this.#find(uri);
    if (!found) return undefined;
    const { source, resource } = found;
    return gatedRead({
      policy: this.#policy(from),
      agentId: this.#agent.agentId,
      name: 'resources/read',
      arguments: { uri },
      judged: resource.judged,
      source,
      signal: from.signal,
      read: () => resource.read(),
    });
  }

  async #find(uri: string): Promise<FoundResource | undefined> {
    for (const source of this.#sources) {
      const resource = await source.resources?.find(uri);
      if (resource) return { source, resource };
    }
    return undefined;
  }

  #policy({ profiles, caller }: ResourceCaller): Policy {
    const { name, approve } = this.#agent;
    const policy = { rules: this.#rules, parent: undefined, path: [name], profiles, approve };
    return new Policy({ ...policy, approveFallback: undefined, caller });
  }
}

interface GatedRead<Value> {
  policy: Policy;
  agentId: string;
  /** The name for approvals and the audit. */
  name: 'resources/read' | 'prompts/get';
  arguments: Record<string, unknown>;
  judged: JudgedTool;
  source: Pick<ToolSource, 'hasOwnSchemas'>;
  signal: AbortSignal;
  read(): Promise<Value>;
}

const undecided = {
  decision: 'refused',
  by: 'policy',
  reason: 'the request ended before it was decided',
  outcome: 'not run',
} as const;

/** Reads what rules judge like a tool: rules, approval, audit. Undefined if rules hide it; throws if approval is denied. */
export async function gatedRead<Value>(request: GatedRead<Value>): Promise<Value | undefined> {
  const { policy, agentId, name, judged } = request;
  const startedAt = performance.now();
  const call = { id: `${name.replace('/', '-')}-${crypto.randomUUID()}`, name, arguments: request.arguments };
  const record: CallRecord = { ...undecided, call, capability: judged.capability, durationMs: 0 };
  try {
    const { decision, by, reason, error } = await decide(request, call);
    Object.assign(record, { decision, by, reason });
    if (by === 'profile') return undefined;
    if (error) throw error;
    record.outcome = 'failed';
    const value = await request.read();
    record.outcome = 'done';
    return value;
  } finally {
    record.durationMs = Math.round(performance.now() - startedAt);
    if (policy.keepsRecords) policy.record(agentId, record);
  }
}

/** Rules, then approval, as for a tool call. */
async function decide<Value>(
  { policy, judged, source, signal }: GatedRead<Value>,
  call: ToolCall,
): Promise<CallVerdict> {
  const refused = policy.checkRules(call, judged);
  if (refused || !policy.mayAsk) return refused ?? { decision: 'allowed', by: 'policy', call };
  // the schema of the tool says nothing about a URI
  const tool = { ...judged.tool, inputSchema: { type: 'object' as const } };
  const verdict = await policy.checkApproval(call, { ...judged, source, tool }, { signal, canWait: false });
  return verdict.decision === 'edited' ? denied(call, verdict.by, 'the approver changed the arguments') : verdict;
}
