// The access rules of one agent: `access` of its options, and what it remembers of tools and approvals.
import type { Tool } from '@modelcontextprotocol/client';
import {
  type Logger,
  listOf,
  nullableBoolean,
  nullableFunction,
  type OptionRules,
  PocketError,
  positiveNumber,
  stringRule,
} from '@pocket-agent/kit';
import { type JudgedTool, type Profile, type ProfileName, readProfile, refusalBy } from './access.ts';
import type { ConfirmPolicy, Remember } from './approval.ts';
import { AuditFile } from './audit.ts';
import { Fingerprints } from './fingerprints.ts';

export interface AccessOptions {
  /** Tools outside of it are neither shown to the model nor callable. Default: all are allowed. */
  profile?: ProfileName | Profile;
  /** A tool must also pass this. It gets the tool as its server lists it, with its name here and its capability. */
  filter?: (tool: FilteredTool) => boolean;
  /** Which calls need an approval. Default never. */
  confirm?: ConfirmPolicy;
  /** How long an approval lasts that does not say so itself. Default: for that one call. */
  remember?: Remember;
  /** Without an answer within this time the call is denied. Default 300,000. */
  approvalTimeoutMs?: number;
  /** A sub-agent has no more rights than its parent, and asks where its parent would, unless this is true. */
  independent?: boolean;
  /** Remembers tools as they were first seen, also after a restart. */
  fingerprintFile?: string;
  /** JSON lines: one for every call that the model asked for. */
  auditFile?: string;
  /** Text to leave out of audit records, in addition to fields named like a secret. */
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

const noOptions: AccessOptions = Object.freeze({});
const noRedacts: readonly RegExp[] = [];
const policies: readonly ConfirmPolicy[] = ['never', 'destructive', 'write', 'always'];

/** What a fork shares with the agent it was made from. */
interface Shared {
  fingerprints: Fingerprints;
  audit: AuditFile | undefined;
  /** Whether the developer was warned that `approve` is missing. */
  warned: boolean;
}

const sharedWithForks = new WeakMap<AccessOptions, Shared>();

export class AccessRules {
  readonly logger: Logger;
  readonly independent: boolean;
  readonly profile: Profile | undefined;
  readonly confirm: ConfirmPolicy;
  readonly remember: Remember | undefined;
  readonly approvalTimeoutMs: number | undefined;
  readonly redacts: readonly RegExp[];
  readonly #options: AccessOptions;
  readonly #shared: Shared;
  /** Approvals that last longer than a call, by the rules of the agent that calls. */
  #remembered: WeakMap<AccessRules, Set<string>> | undefined;

  constructor(given: AccessOptions | undefined, logger: Logger) {
    const options = given ?? noOptions;
    check(options);
    this.logger = logger;
    this.#options = given ? { ...given } : noOptions;
    this.profile = options.profile === undefined ? undefined : readProfile(options.profile);
    this.confirm = options.confirm ?? 'never';
    this.remember = options.remember;
    this.approvalTimeoutMs = options.approvalTimeoutMs;
    this.independent = options.independent ?? false;
    this.redacts = options.redact ? [...options.redact] : noRedacts;
    this.#shared = sharedWithForks.get(options) ?? {
      fingerprints: new Fingerprints(options.fingerprintFile),
      audit: options.auditFile === undefined ? undefined : new AuditFile(options.auditFile),
      warned: false,
    };
  }

  get fingerprints(): Fingerprints {
    return this.#shared.fingerprints;
  }

  get audit(): AuditFile | undefined {
    return this.#shared.audit;
  }

  get hasFilter(): boolean {
    return this.#options.filter !== undefined;
  }

  /** Why this agent may not call a tool. */
  refusal(tool: JudgedTool): string | undefined {
    const reason = this.profile && refusalBy(this.profile, tool);
    if (reason !== undefined) return reason;
    return this.#options.filter && this.#options.filter(filteredTool(tool)) !== true
      ? 'the filter of the agent leaves it out'
      : undefined;
  }

  approvalsFor(caller: AccessRules): Set<string> {
    this.#remembered ??= new WeakMap();
    const known = this.#remembered.get(caller) ?? new Set();
    this.#remembered.set(caller, known);
    return known;
  }

  forgetApprovals(): void {
    this.#remembered = undefined;
  }

  /** The model reads why its call was denied; the developer who forgot `approve` reads the log. */
  warnOnce(text: string): void {
    if (!this.#shared.warned) this.logger.warn(text);
    this.#shared.warned = true;
  }

  /** Options for a fork: it knows the same tools and writes to the same audit file. */
  optionsOfFork(): AccessOptions {
    const options = { ...this.#options };
    sharedWithForks.set(options, this.#shared);
    return options;
  }

  /** Resolves when every audit record is in the file. */
  async close(): Promise<void> {
    await this.audit?.written();
  }
}

function filteredTool({ name, tool, capability, from, ownName }: JudgedTool): FilteredTool {
  const judged = { name, tool, capability, from, ...(ownName === undefined ? {} : { ownName }) };
  return { ...tool, meta: tool._meta ?? {}, ...judged };
}

function check({ confirm = 'never', remember = 'call', approvalTimeoutMs = 1 }: AccessOptions): void {
  const wrong = (what: string, allowed: string) =>
    new PocketError('CONFIG_INVALID', `access.${what} must be ${allowed}.`);
  if (typeof confirm !== 'function' && !policies.includes(confirm))
    throw wrong('confirm', `a function, or one of ${policies.join(', ')}`);
  if (remember !== 'call' && remember !== 'conversation') throw wrong('remember', 'call or conversation');
  if (!(approvalTimeoutMs > 0)) throw wrong('approvalTimeoutMs', 'a number greater than 0');
}
