// The options of the commands that serve: on stdin and stdout, or over HTTP.
import { PocketError } from '@pocket-agent/kit';
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

/** Undefined: on stdin and stdout. */
export function readAddress({ http, host, port, token }: HttpValues): Address | undefined {
  if (!http) {
    const [lost] = Object.entries({ host, port, token }).find(([, value]) => value !== undefined) ?? [];
    if (lost) throw new PocketError('CONFIG_INVALID', `--${lost} needs --http: on stdin and stdout nobody listens.`);
    return undefined;
  }
  const number = port === undefined ? undefined : Number(port);
  if (number !== undefined && !(Number.isInteger(number) && number >= 0 && number <= 65_535)) {
    throw new PocketError('CONFIG_INVALID', `--port must be a number from 0 to 65535, not "${port}".`);
  }
  const secret = token ?? process.env.POCKET_AGENT_TOKEN;
  return {
    ...(host === undefined ? {} : { host }),
    ...(number === undefined ? {} : { port: number }),
    ...(secret ? { token: secret } : {}),
  };
}

/** Somebody who starts it in a terminal would take it for hung. */
export function tellStdio(): void {
  if (!process.stdin.isTTY) return;
  process.stderr.write('Serving MCP on stdin and stdout, for a program that starts it; --http serves over HTTP.\n');
}

interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves until the process is told to stop. */
export async function listenUntilStopped(
  interrupts: Interrupts,
  address: Address,
  listen: (address: Address) => Promise<Listening>,
): Promise<number> {
  const { signal } = interrupts.listen();
  const { host = '127.0.0.1', token } = address;
  if (token === undefined && !/^(?:localhost|127\.[\d.]+|::1)$/.test(host)) {
    process.stderr.write(`Without --token whoever reaches ${host} may use it.\n`);
  }
  const server = await listen(address);
  process.stderr.write(`listening on ${server.url}\n`);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.close();
  return interrupts.exitCode ?? 0;
}
