// The callers of a gateway: adds, lists and revokes their tokens.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CallerSettings, GatewayState } from '@pocket-agent/gateway';
import { didYouMean, errorText, PocketError, printable, printableJson, withoutUndefined } from '@pocket-agent/kit';
import { dataFolder } from '@pocket-agent/kit/private-files';
import { profiles } from 'pocket-agent';
import { exitCodes } from '../command-line/exit-codes.ts';

export interface TokenRequest {
  action: 'add' | 'list' | 'revoke';
  name: string;
  state: string | undefined;
  profile: string | undefined;
  settings: Omit<CallerSettings, 'profile'>;
  json: boolean;
}

/** By default a file in the data folder of this user. */
function placeOf(location = process.env.POCKET_AGENT_GATEWAY_STATE): string {
  return location || join(dataFolder(), 'gateway.sqlite');
}

/** For an error: which state was read if none was named. */
export function stateHint(location: string | undefined): string {
  const isNamed = location !== undefined || process.env.POCKET_AGENT_GATEWAY_STATE;
  return isNamed ? '' : ` The state ${placeOf()} was read; --state names another one.`;
}

/** The state of a gateway that was started before. */
export async function knownState(location: string | undefined): Promise<GatewayState> {
  const place = placeOf(location);
  if (!place.includes('://') && !existsSync(place.replace(/^sqlite:/, '')))
    throw new PocketError(
      'CONFIG_INVALID',
      `There is no state of a gateway at ${place}. Give the --state of the gateway.`,
    );
  return gatewayState(location);
}

export async function gatewayState(location: string | undefined): Promise<GatewayState> {
  const { openGatewayState } = await import('@pocket-agent/gateway');
  return openGatewayState(placeOf(location)).catch((error) => {
    const text = `The state of the gateway cannot be opened: ${errorText(error)}`;
    throw new PocketError('CONFIG_INVALID', text, { cause: error });
  });
}

export async function tokenCommand({
  action,
  name,
  state: location,
  profile,
  settings,
  json,
}: TokenRequest): Promise<number> {
  // an approver without a profile only answers questions
  const onlyApproves = profile === undefined && settings.approves;
  if (action === 'add' && profile === undefined && !onlyApproves)
    throw new PocketError(
      'CONFIG_INVALID',
      'Give the profile of the caller: --profile reader, writer, manager, admin, or a profile of your file.',
    );
  const state = await (action === 'add' ? gatewayState : knownState)(location);
  try {
    if (action === 'add') {
      const rights = onlyApproves ? { profile: 'reader', servers: [] } : { profile: profile ?? '' };
      const token = await state.addCaller(name, { ...withoutUndefined(settings), ...rights });
      process.stdout.write(`${token}\n`);
      process.stderr.write('This is the only time that the token is shown.\n');
      if (!Object.hasOwn(profiles, rights.profile)) process.stderr.write(unknownProfile(rights.profile));
      return exitCodes.answered;
    }
    if (action === 'list') return await list(state, json);
    if (await state.removeCaller(name)) return exitCodes.answered;
    process.stderr.write(`There is no caller "${printable(name)}".\n`);
    return exitCodes.failed;
  } finally {
    await state.close();
  }
}

/** The gateway's file may define the profile, but this command does not read that file. */
function unknownProfile(name: string): string {
  const names = Object.keys(profiles);
  const advice = `Otherwise the gateway refuses the token.${didYouMean(name, names)}`;
  return `The file of the gateway must define the profile "${printable(name)}", because it is not one of ${names.join(', ')}. ${advice}\n`;
}

async function list(state: GatewayState, json: boolean): Promise<number> {
  for (const { name, settings, createdAt } of await state.callers()) {
    const { profile, servers = ['*'], expose, callsPerMinute, callsPerDay, usdPerDay, approves } = settings;
    const parts = [name, profile, servers.join(',') || 'no servers'];
    if (expose !== undefined) parts.push(expose);
    if (callsPerMinute !== undefined) parts.push(`${callsPerMinute}/minute`);
    if (callsPerDay !== undefined) parts.push(`${callsPerDay}/day`);
    if (usdPerDay !== undefined) parts.push(`$${usdPerDay}/day`);
    if (approves) parts.push('approves');
    const row = [...parts, createdAt.toISOString().slice(0, 10)].map((part) => printable(part)).join('  ');
    process.stdout.write(`${json ? printableJson({ name, ...settings, createdAt }) : row}\n`);
  }
  return exitCodes.answered;
}
