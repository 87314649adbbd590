// The bearer tokens of a server. Checked before the MCP SDK is loaded.
import { configError } from '@pocket-agent/kit';
import { type Profile, type ProfileName, readProfile } from '../access/capabilities.ts';

export interface TokenOptions {
  /** Clients must send it as a bearer token. */
  token?: string;
  /** Tokens of several clients, each with the profile that limits it. */
  tokens?: Readonly<Record<string, ProfileName | Profile>>;
}

/** Throws for tokens that would open a server by mistake. */
export function checkTokens(options: TokenOptions & { authenticate?: unknown }): void {
  // an unset variable must not open a server
  for (const key of ['token', 'tokens', 'authenticate'] as const) {
    if (!(key in options) || (options[key] !== undefined && options[key] !== null)) continue;
    const problem = `The "${key}" of the server is ${options[key]}; set it, or leave the option out.`;
    throw configError(problem);
  }
  const { token, tokens = {} } = options;
  for (const profile of Object.values(tokens)) readProfile(profile);
  if (token === '' || '' in tokens) throw configError('The "token" of the server is empty; set one or leave it out.');
  if (token !== undefined && Object.hasOwn(tokens, token))
    throw configError('One token is both "token" and in "tokens"; keep it in one of them.');
}

export function hasTokens({ token, tokens }: TokenOptions): boolean {
  return token !== undefined || tokens !== undefined;
}

/** Whether there are several callers: then one of them must not use up all runs. */
export function hasSeveralCallers({ token, tokens }: TokenOptions): boolean {
  return Object.keys(tokens ?? {}).length + (token === undefined ? 0 : 1) > 1;
}
