// The options of the commands that serve on stdin and stdout or over HTTP.
import { onAbort, PocketError } from '@pocket-agent/kit';
import type { Interrupts } from './interrupts.ts';

export const httpOptions = {
  http: { type: 'boolean', default: false },
  host: { type: 'string' },
  port: { type: 'string' },
  token: { type: 'string' },
} as const;

interface HttpValues {
  http: boolean;
  host?: string;
  port?: string;
  token?: string;
}

export interface Address {
  host?: string;
  port?: number;
  token?: string;
}

/** Undefined means stdin and stdout. */
export function readAddress({ http, host, port, token }: HttpValues): Address | undefined {
  if (!http) {
    const [unused] = Object.entries({ host, port, token }).find(([, value]) => value !== undefined) ?? [];
    if (unused)
      throw new PocketError('CONFIG_INVALID', `--${unused} needs --http; on stdin and stdout there is no listener.`);
    return undefined;
  }
  const number = port === undefined ? undefined : Number(port);
  if (number !== undefined && !(Number.isInteger(number) && number >= 0 && number <= 65_535)) {
    throw new PocketError('CONFIG_INVALID', `--port must be a number from 0 to 65535, not "${port}".`);
  }
  const secret = token ?? process.env.POCKET_AGENT_TOKEN;
  // a server refuses a token that is undefined, because it would be open
  return { host, port: number, ...(secret ? { token: secret } : {}) };
}

/** In a terminal the command would look as if it hangs. */
export function explainStdio(): void {
  if (!process.stdin.isTTY) return;
  process.stderr.write(
    'Serving MCP on stdin and stdout for a client that starts this command; use --http to serve over HTTP.\n',
  );
}

interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves until the process receives a signal to stop. */
export async function listenUntilStopped(
  interrupts: Interrupts,
  address: Address,
  listen: (address: Address) => Promise<Listening>,
  { needsToken = false } = {},
): Promise<number> {
  const { signal } = interrupts.listen();
  const { host = '127.0.0.1', token } = address;
  if (token === undefined && !needsToken && !/^(?:localhost|127\.[\d.]+|::1)$/.test(host)) {
    process.stderr.write(`Without --token, anyone who can reach ${host} can use this server.\n`);
  }
  const server = await listen(address);
  process.stderr.write(`listening on ${server.url}\n`);
  await new Promise<void>((resolve) => void onAbort(signal, () => resolve()));
  await server.close();
  return interrupts.exitCode ?? 0;
}
