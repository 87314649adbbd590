// The options of `remoteAgent()`.
import {
  booleanRule,
  functionRule,
  hasMethods,
  httpUrlHint,
  type Logger,
  nonEmptyRule,
  OptionSet,
  objectRule,
  PocketError,
  positiveNumber,
  secretStringMap,
  stringList,
  stringRule,
} from '@pocket-agent/kit';
import type { Capability } from 'pocket-agent';
import { capabilities, isCapability } from 'pocket-agent/internal';
import type { DeviceLogin } from '../client/oauth-tokens.ts';
import { publicPart, type SigningKey } from '../signing/signing-key.ts';

/** An OAuth client of this program, for a remote agent. */
export interface RemoteOAuth {
  clientId: string;
  /** Without `onLogin` the program gets a token for itself with it (client credentials). */
  clientSecret?: string;
  scopes?: readonly string[];
  /** Default: that of the card, if it is on the host of the agent or in `allowHosts`. */
  tokenUrl?: string;
  /** Like `tokenUrl`, for the device authorization endpoint. */
  deviceUrl?: string;
  /** Shows the person where to log in (device flow). Each `caller` of a run has a login of its own. */
  onLogin?(login: DeviceLogin & { caller?: string }): void | Promise<void>;
  /** Keeps the refresh tokens of logins, so that they outlive the process. */
  logins?: LoginStore;
}

/** Keeps one secret string for each caller. */
export interface LoginStore {
  read(caller: string | undefined): string | undefined | Promise<string | undefined>;
  /** Undefined removes it. */
  write(caller: string | undefined, secret: string | undefined): void | Promise<void>;
}

/** How to reach a remote agent, and how it appears as a tool. */
export interface RemoteAgentOptions {
  /** The URL of the agent or of its card. */
  url: string;
  /** Default: the name in the card. */
  name?: string;
  /** Bearer token, sent to the origin of `url` only. */
  token?: string;
  headers?: Readonly<Record<string, string>>;
  /** Instead of `token`: tokens from an OAuth server, renewed when they expire. They go where `token` would go. */
  oauth?: RemoteOAuth;
  /** Time for one message and its answer. Default 600,000. */
  timeoutMs?: number;
  /** URIs of extensions of A2A to use. An agent that requires another one has no tools. */
  extensions?: readonly string[];
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

const oauthOptions = new OptionSet<RemoteOAuth>('oauth', {
  clientId: nonEmptyRule,
  clientSecret: { ...nonEmptyRule, isSecret: true },
  scopes: stringList,
  tokenUrl: stringRule,
  deviceUrl: stringRule,
  onLogin: functionRule,
  logins: {
    expected: '{ read(caller), write(caller, secret) }',
    accepts: (value) => hasMethods(value, 'read', 'write'),
  },
});

const remoteAgentOptions = new OptionSet<RemoteAgentOptions>('remoteAgent', {
  url: stringRule,
  name: stringRule,
  token: { ...stringRule, isSecret: true },
  headers: secretStringMap,
  oauth: { ...objectRule, isSecret: true },
  extensions: stringList,
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
  if (options.oauth) {
    oauthOptions.check(options.oauth);
    const { clientId, clientSecret, onLogin } = options.oauth;
    if (!clientId || (!clientSecret && !onLogin))
      throw new PocketError('CONFIG_INVALID', 'oauth of remoteAgent needs a clientId, and a clientSecret or onLogin.');
    if (options.token !== undefined)
      throw new PocketError('CONFIG_INVALID', 'remoteAgent takes either "token" or "oauth".');
  }
  trustedKeys.forEach(publicPart); // throws for a key that cannot be used
  const hint = httpUrlHint(url);
  if (!hint) return;
  throw new PocketError('CONFIG_INVALID', `remoteAgent needs the address of an A2A agent, got "${url}". ${hint}`);
}
