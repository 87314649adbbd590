// The access rules of one agent: `access` of its options, and what it remembers of tools and approvals.
import type { Tool } from '@modelcontextprotocol/client';
import {
  type Logger,
  listOf,
  nullableBoolean,
  nullableFunction,
  type OptionRules,
  oneOf,
  positiveNumber,
  snapshot,
  stringRule,
  warnOnce,
} from '@pocket-agent/kit';
import { type ConfirmPolicy, confirmRule, type Remember } from './approval.ts';
import { AuditFile } from './audit.ts';
import { type JudgedTool, type Profile, type ProfileName, readProfile, refusalBy } from './capabilities.ts';
import { Fingerprints } from './fingerprints.ts';

/** The tools that an agent may call, and the calls that a person must allow first. */
export interface AccessOptions {
  /** Tools outside of it are neither shown to the model nor callable. Default: all are allowed. */
  profile?: ProfileName | Profile;
  /** A tool must also pass this. It gets the tool as its server lists it, with its name here and its capability. */
  filter?: (tool: FilteredTool) => boolean;
  /** Which calls need an approval. Default never: `approve` alone asks nothing. */
  confirm?: ConfirmPolicy;
  /** How long an approval lasts if the answer does not say. Default: for that one call. */
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
  confirm: confirmRule,
  remember: oneOf('call', 'conversation'),
  approvalTimeoutMs: positiveNumber,
  independent: nullableBoolean,
  fingerprintFile: stringRule,
  auditFile: stringRule,
  redact: listOf('a list of regular expressions such as [/ssn/i]', (value) => value instanceof RegExp),
};

/** A tool as `filter` judges it: the definition of its server under its name here, with the capability that counts. */
export type FilteredTool = Omit<Tool, 'name'> & JudgedTool & { meta: Record<string, unknown> };

interface RulesOptions {
  logger: Logger;
  /** The rules of the agent that a fork was made from. */
  forkOf?: AccessRules | undefined;
  /** The option that sets an approver, which a warning names. */
  approverOption?: string;
}

export class AccessRules {
  readonly logger: Logger;
  readonly options: AccessOptions;
  readonly profile: Profile | undefined;
  readonly fingerprints: Fingerprints;
  readonly audit: AuditFile | undefined;
  /** The option that sets an approver. */
  readonly approverOption: string;
  /** Approvals that last longer than a call, by the rules of the agent that calls. */
  #remembered: WeakMap<AccessRules, Set<string>> | undefined;
  #checkOrigins: WeakMap<object, object> | undefined;

  constructor(given: AccessOptions | undefined, { logger, forkOf, approverOption = 'approve' }: RulesOptions) {
    this.logger = logger;
    this.approverOption = approverOption;
    this.options = snapshot(given ?? {});
    const { profile, fingerprintFile, auditFile } = this.options;
    this.profile = profile === undefined ? undefined : readProfile(profile);
    // a fork knows the same tools and writes to the same audit file, unless its options name other files
    const isSame = (key: 'fingerprintFile' | 'auditFile') => forkOf?.options[key] === this.options[key];
    const shared = isSame('fingerprintFile') && isSame('auditFile') ? forkOf : undefined;
    this.fingerprints = shared?.fingerprints ?? new Fingerprints(fingerprintFile);
    this.audit = shared?.audit ?? (auditFile === undefined ? undefined : new AuditFile(auditFile));
  }

  /** Why this agent may not call a tool. */
  refusal(tool: JudgedTool): string | undefined {
    const reason = this.profile && refusalBy(this.profile, tool);
    if (reason !== undefined || !this.options.filter) return reason;
    return this.options.filter(filteredTool(tool)) === true ? undefined : 'access.filter excludes it';
  }

  approvalsFor(caller: AccessRules): Set<string> {
    this.#remembered ??= new WeakMap();
    const known = this.#remembered.get(caller) ?? new Set();
    this.#remembered.set(caller, known);
    return known;
  }

  /** The origin of schemas of a tool source. Forks share sources, but must not wait for the checks of each other. */
  checkOrigin(source: object): object {
    this.#checkOrigins ??= new WeakMap();
    const known = this.#checkOrigins.get(source) ?? {};
    this.#checkOrigins.set(source, known);
    return known;
  }

  forgetApprovals(): void {
    this.#remembered = undefined;
  }

  /** The model reads why its call was denied; the developer who forgot `approve` reads the log. */
  warnOnce(text: string): void {
    warnOnce({ logger: this.logger, about: this.fingerprints, key: 'approve', text });
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
