// The options of `remoteAgent()`.
import {
  booleanRule,
  httpUrlHint,
  type Logger,
  nonEmptyRule,
  OptionSet,
  PocketError,
  positiveNumber,
  secretStringMap,
  stringRule,
} from '@pocket-agent/kit';
import type { Capability } from 'pocket-agent';
import { capabilities, isCapability } from 'pocket-agent/internal';
import { publicPart, type SigningKey } from '../signing/signing-key.ts';

/** How to reach a remote agent, and how it appears as a tool. */
export interface RemoteAgentOptions {
  /** The URL of the agent or of its card. */
  url: string;
  /** Default: the name in the card. */
  name?: string;
  /** Bearer token, sent to the origin of `url` only. */
  token?: string;
  headers?: Readonly<Record<string, string>>;
  /** Time for one message and its answer. Default 600,000. */
  timeoutMs?: number;
  /** How long a run waits for the card before it continues without this agent, which joins later. Default 10,000. */
  waitMs?: number;
  /** Further hosts the card may name although their address is private; they get the credentials, too. */
  allowHosts?: readonly string[];
  /** The most powerful effect a message can have. Default delete, the safest assumption. */
  capability?: Capability;
  /** True for a trusted Pocket Agent: its approval questions go to the approver of the caller. Default: they are refused. */
  approvals?: boolean;
  /** Longer answers are truncated. Default 262,144. */
  maxResultBytes?: number;
  /**
   * Public keys (JWK). The card must be signed by one of them, otherwise the agent has no tools. Protects against a server that was
   * taken over.
   */
  trustedKeys?: readonly SigningKey[];
  /**
   * Files of answers are saved in this folder, and the model may send files from it, at most 10 MB in a message. Default: files
   * that are not text are only named.
   */
  folder?: string;
  /** Receives warnings, for example if the agent cannot be reached. Default: stderr. */
  logger?: Logger;
}

const remoteAgentOptions = new OptionSet<RemoteAgentOptions>('remoteAgent', {
  url: stringRule,
  name: stringRule,
  token: { ...stringRule, isSecret: true },
  headers: secretStringMap,
  timeoutMs: positiveNumber,
  waitMs: positiveNumber,
  allowHosts: { expected: 'a list of hosts', accepts: Array.isArray },
  capability: { expected: `one of ${capabilities.join(', ')}`, accepts: isCapability },
  approvals: booleanRule,
  maxResultBytes: positiveNumber,
  trustedKeys: { expected: 'a list of public keys (JWK)', accepts: Array.isArray },
  folder: nonEmptyRule,
  logger: true,
});

export function checkRemoteAgentOptions(options: RemoteAgentOptions): void {
  remoteAgentOptions.check(options);
  const { url = '', trustedKeys = [] } = options;
  trustedKeys.forEach(publicPart); // throws for a key that cannot be used
  const hint = httpUrlHint(url);
  if (!hint) return;
  throw new PocketError('CONFIG_INVALID', `remoteAgent needs the address of an A2A agent, got "${url}". ${hint}`);
}
