// `pocket-agent gateway logins`: the operator lists and removes the logins of callers at servers.
import { PocketError, printable, printableJson } from '@pocket-agent/kit';
import { exitCodes } from '../command-line/exit-codes.ts';
import { knownState } from './gateway-tokens.ts';

export interface LoginsRequest {
  action: 'list' | 'remove';
  caller: string;
  /** Undefined: all servers. */
  server: string | undefined;
  state: string | undefined;
  json: boolean;
}

export function readLogins(
  [action = 'list', caller, server, ...more]: readonly string[],
  options: Pick<LoginsRequest, 'state' | 'json'>,
): LoginsRequest {
  if ((action !== 'list' && action !== 'remove') || (action === 'list') !== (caller === undefined) || more.length > 0)
    throw new PocketError('CONFIG_INVALID', 'pocket-agent gateway logins takes list, or remove CALLER [SERVER].');
  return { action, caller: caller ?? '', server, ...options };
}

export async function loginsCommand({ action, caller, server, state: location, json }: LoginsRequest): Promise<number> {
  const { loginsIn, removeLogins } = await import('@pocket-agent/gateway');
  const state = await knownState(location);
  try {
    if (action === 'list') {
      for (const login of await loginsIn(state)) {
        const row = [login.caller, login.server, login.url].map((part) => printable(part)).join('  ');
        process.stdout.write(`${json ? printableJson(login) : row}\n`);
      }
      return exitCodes.answered;
    }
    if (await removeLogins(state, { caller, server })) return exitCodes.answered;
    const where = server === undefined ? '' : ` at "${printable(server)}"`;
    process.stderr.write(`"${printable(caller)}" has no login${where}.\n`);
    return exitCodes.failed;
  } finally {
    await state.close();
  }
}
