// The gate of an agent: what its calls are measured by, and the approvals that it and those above it want.
import type { Tool } from '@modelcontextprotocol/client';
import {
  listOf,
  nullableBoolean,
  nullableFunction,
  type OptionRules,
  PocketError,
  positiveNumber,
  stringRule,
} from '@pocket-agent/kit';
import { checkForeign, checkHere } from '../base/foreign-schema.ts';
import type { RunFrame } from '../base/run-frame.ts';
import type { ToolCall, ToolEntry } from '../tools/tools.ts';
import { type JudgedTool, type Profile, type ProfileName, readProfile, refusalBy } from './access.ts';
import {
  type Approve,
  ask,
  type ConfirmPolicy,
  callHash,
  type Decision,
  needsApproval,
  type Question,
  type Remember,
} from './approval.ts';
import { AuditFile } from './audit.ts';
import { Fingerprints, fingerprint, type SeenTools } from './fingerprints.ts';
import { gatesOf } from './rights.ts';

export interface AccessOptions {
  /** Tools outside of it are neither shown to the model nor callable. Default: all are allowed. */
  profile?: ProfileName | Profile;
  /** A tool must also pass this. It gets the tool as its server lists it, with its name here and its capability. */
  filter?: (tool: FilteredTool) => boolean;
  /** Which calls need a yes. Default never. */
  confirm?: ConfirmPolicy;
  /** How long a plain yes lasts. Default: for that one call. */
  remember?: Remember;
  /** A question that nobody answers for so long is answered with no. Default 300,000. */
  approvalTimeoutMs?: number;
  /** A sub-agent has no more rights than its parent, and asks where its parent would, unless this is true. */
  independent?: boolean;
  /** Keeps what tools looked like when they were first seen. */
  fingerprintFile?: string;
  /** JSON lines: one for every call that was asked for. */
  auditFile?: string;
  /** What must not stand in audit records, beside what is named like a secret. */
  redact?: readonly RegExp[];
}

export const accessOptions: OptionRules<AccessOptions> = {
  profile: true,
  filter: nullableFunction,
  confirm: true,
  remember: true,
  approvalTimeoutMs: positiveNumber,
  independent: nullableBoolean,
  fingerprintFile: stringRule,
  auditFile: stringRule,
  redact: listOf('a list of regular expressions such as [/ssn/i]', (value) => value instanceof RegExp),
};

export type FilteredTool = Omit<Tool, 'name'> & JudgedTool & { meta: Record<string, unknown> };

function toFilter({ name, tool, capability, from, ownName }: JudgedTool): FilteredTool {
  const judged = { name, tool, capability, from, ...(ownName === undefined ? {} : { ownName }) };
  return { ...tool, meta: tool._meta ?? {}, ...judged };
}

/** Nobody was asked: the tool could not take the call. */
interface UnfitCall {
  allowed: false;
  by: 'policy';
  code: 'TOOL_ARGUMENTS_INVALID' | 'TOOL_FAILED';
  reason: string;
}

const noOptions: AccessOptions = Object.freeze({});
const noRedacts: readonly RegExp[] = [];
const DEFAULT_APPROVAL_MS = 300_000;
const policies: readonly ConfirmPolicy[] = ['never', 'destructive', 'write', 'always'];

/** What a fork has in common with the agent that it was made from: what is known of tools, and one file of records. */
const inherited = new WeakMap<AccessOptions, Shared>();

interface Shared {
  fingerprints: Fingerprints;
  audit: AuditFile | undefined;
  /** Whether the developer was told that there is nobody to ask. */
  wasTold: boolean;
}

export class Gate {
  readonly independent: boolean;
  readonly profile: Profile | undefined;
  readonly audit: AuditFile | undefined;
  readonly redacts: readonly RegExp[];
  readonly #options: AccessOptions;
  readonly #shared: Shared;
  /** What was allowed for longer than a call, by the gate of the agent that calls. */
  #remembered: WeakMap<Gate, Set<string>> | undefined;

  constructor(given?: AccessOptions) {
    const options = given ?? noOptions;
    check(options);
    this.#options = given ? { ...given } : noOptions;
    this.profile = options.profile === undefined ? undefined : readProfile(options.profile);
    this.#shared = inherited.get(options) ?? {
      fingerprints: new Fingerprints(options.fingerprintFile),
      audit: options.auditFile === undefined ? undefined : new AuditFile(options.auditFile),
      wasTold: false,
    };
    this.audit = this.#shared.audit;
    this.redacts = options.redact ? [...options.redact] : noRedacts;
    this.independent = options.independent ?? false;
  }

  /** For the gate of a fork: a tool that has changed is not a new one there. */
  optionsOfFork(): AccessOptions {
    const options = { ...this.#options };
    inherited.set(options, this.#shared);
    return options;
  }

  get isOpen(): boolean {
    return this.profile === undefined && !this.hasFilter;
  }

  get hasFilter(): boolean {
    return this.#options.filter !== undefined;
  }

  refusal(tool: JudgedTool): string | undefined {
    const reason = this.profile && refusalBy(this.profile, tool);
    if (reason !== undefined) return reason;
    return this.#options.filter && this.#options.filter(toFilter(tool)) !== true
      ? 'the filter of the agent leaves it out'
      : undefined;
  }

  /** Takes note of tools, and tells which are not what they were when they were first seen. */
  look(tools: SeenTools): string[] {
    return this.#shared.fingerprints.look(tools);
  }

  forget(): void {
    this.#remembered = undefined;
  }

  /** Resolves when every record is in the file. */
  async close(): Promise<void> {
    await this.audit?.written();
  }

  /** Whether a call in this frame may need a yes at all. */
  mayAsk(frame: RunFrame): boolean {
    return gatesOf(frame).some(({ gate }) => gate.#confirm !== 'never');
  }

  /** Asks whoever must be asked; the arguments of the answer are the ones to call with. */
  async decide(call: ToolCall, tool: ToolEntry, frame: RunFrame): Promise<Decision | UnfitCall> {
    const gates = [...new Set(gatesOf(frame).map(({ gate }) => gate))];
    const changed = this.#shared.fingerprints.hasChanged(tool.name, tool.tool);
    const asking = gates.filter((gate) => needsApproval(gate.#confirm, tool, call.arguments));
    if (asking.length === 0 && !changed) return this.#yes(call);
    // a yes is one to the tool as it was
    const seen = fingerprint(tool.tool);
    const once = JSON.stringify([callHash(frame.path, tool.name, call.arguments), seen]);
    const always = JSON.stringify([frame.path, tool.name, seen]);
    // kept by the agent that people talk to: a yes to one is none to another
    const remembered = rootOf(frame).gate.#rememberedFor(this);
    if (!changed && (remembered.has(once) || remembered.has(always))) return { ...this.#yes(call), by: 'memory' };
    const unfit = await unfitness(call, tool, frame.signal);
    if (unfit) return unfit;
    const approve = approverOf(frame);
    if (!approve) this.#tellOnce(frame, tool.name);
    const decision = await ask({
      about: questionAbout(call, tool, { path: frame.path, changed }),
      approve,
      signal: frame.signal,
      timeoutMs: approvalTimeoutIn(frame),
    });
    if (!decision.allowed) return decision;
    if (changed) this.#shared.fingerprints.accept(tool.name, tool.tool);
    const remember = decision.remember ?? shortest(asking.map((gate) => gate.#options.remember));
    if (remember && !decision.edited) remembered.add(remember === 'conversation' ? always : once);
    return decision;
  }

  get approvalTimeoutMs(): number | undefined {
    return this.#options.approvalTimeoutMs;
  }

  get #confirm(): ConfirmPolicy {
    return this.#options.confirm ?? 'never';
  }

  /** A model reads why it was refused; whoever forgot an approver would not. */
  #tellOnce(frame: RunFrame, tool: string): void {
    if (this.#shared.wasTold) return;
    this.#shared.wasTold = true;
    frame.owner.logger.warn(
      `${frame.path.join(' → ')} may not call "${tool}" without a yes, and there is nobody to ask: give the agent "approve".`,
    );
  }

  #rememberedFor(gate: Gate): Set<string> {
    this.#remembered ??= new WeakMap();
    const known = this.#remembered.get(gate) ?? new Set();
    this.#remembered.set(gate, known);
    return known;
  }

  #yes(call: ToolCall): Decision & { allowed: true } {
    return { allowed: true, by: 'policy', arguments: call.arguments, edited: false };
  }
}

/** No question about a call that its tool would refuse. */
async function unfitness(
  call: ToolCall,
  { tool, source }: ToolEntry,
  signal: AbortSignal,
): Promise<UnfitCall | undefined> {
  const check = { schema: tool.inputSchema, value: call.arguments, defaults: true };
  const verdict = await (source.hasOwnSchemas ? checkHere(check) : checkForeign({ ...check, origin: source, signal }));
  if ('problem' in verdict)
    return { allowed: false, by: 'policy', code: 'TOOL_ARGUMENTS_INVALID', reason: verdict.problem };
  // an invalid schema says nothing about the arguments
  if (!('unchecked' in verdict)) return undefined;
  const reason = `its arguments could not be checked against its inputSchema: ${verdict.unchecked}`;
  return { allowed: false, by: 'policy', code: 'TOOL_FAILED', reason };
}

function rootOf(frame: RunFrame): RunFrame {
  return frame.parent ? rootOf(frame.parent) : frame;
}

/** The first agent that was called is the one people talk to: its approver is asked, else the next one down. */
export function approverOf(frame: RunFrame): Approve | undefined {
  let found: Approve | undefined;
  let fallback: Approve | undefined;
  for (let above: RunFrame | undefined = frame; above; above = above.parent) {
    found = above.approve ?? found;
    fallback = above.approveFallback ?? fallback;
  }
  return found ?? fallback;
}

/** The shortest that an agent whose rules hold was given. */
export function approvalTimeoutIn(frame: RunFrame): number {
  const given = gatesOf(frame).flatMap(({ gate }) => gate.approvalTimeoutMs ?? []);
  return given.length > 0 ? Math.min(...given) : DEFAULT_APPROVAL_MS;
}

/** A plain yes lasts no longer than each of those who asked for it lets it. */
function shortest(all: readonly (Remember | undefined)[]): Remember | undefined {
  if (all.length === 0 || all.includes(undefined)) return undefined;
  return all.includes('call') ? 'call' : 'conversation';
}

function questionAbout(
  { id: toolCallId, arguments: args }: ToolCall,
  { name, capability, tool: { description, annotations } }: JudgedTool,
  where: { path: readonly string[]; changed: boolean },
): Question['about'] {
  return { tool: name, capability, description, annotations, arguments: args, toolCallId, ...where };
}

function check({ confirm = 'never', remember = 'call', approvalTimeoutMs = 1 }: AccessOptions): void {
  const wrong = (what: string, allowed: string) =>
    new PocketError('CONFIG_INVALID', `access.${what} must be ${allowed}.`);
  if (typeof confirm !== 'function' && !policies.includes(confirm))
    throw wrong('confirm', `a function, or one of ${policies.join(', ')}`);
  if (remember !== 'call' && remember !== 'conversation') throw wrong('remember', 'call or conversation');
  if (!(approvalTimeoutMs > 0)) throw wrong('approvalTimeoutMs', 'a number greater than 0');
}
