// The floor for calls over HTTP: writes bytes to keep-alive connections, and parses only the answers.
import { connect, type Socket } from 'node:net';
import type { Connection } from './contender.ts';

/** The path of the URL selects the era. */
export async function bareHttp(url: string): Promise<Connection> {
  const isModern = url.endsWith('/2026');
  const pool = new ConnectionPool(new URL(url));
  const headers = isModern ? modernHeaders : await openSession(pool);
  const params = isModern ? { name: 'add', _meta: modernMeta } : { name: 'add' };
  let id = 0;
  return {
    async call(a, b) {
      const message = { id: ++id, method: 'tools/call', params: { ...params, arguments: { a, b } } };
      const answer = await pool.send(headers, message);
      return /"text":"([^"]*)"/.exec(answer)?.[1] ?? answer;
    },
    close: async () => pool.close(),
  };
}

const modernHeaders = headerLines({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'add',
});
/** Part of every request of the 2026 era. */
export const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

async function openSession(pool: ConnectionPool): Promise<string> {
  const protocolVersion = '2025-11-25';
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
  const answer = await pool.send('', { id: 0, method: 'initialize', params });
  const session = /^mcp-session-id: (.*?)\r$/im.exec(answer)?.[1] ?? '';
  const headers = headerLines({ 'mcp-protocol-version': protocolVersion, 'mcp-session-id': session });
  await pool.send(headers, { method: 'notifications/initialized' });
  return headers;
}

function headerLines(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}

/** POSTs over a pool of keep-alive connections. */
class ConnectionPool {
  readonly #url: URL;
  readonly #head: string;
  readonly #free: KeepAliveConnection[] = [];

  constructor(url: URL) {
    this.#url = url;
    const types = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    this.#head = `POST ${url.pathname} HTTP/1.1\r\n${headerLines({ host: url.host, ...types })}`;
  }

  /** Resolves with the head and body of the response. */
  async send(headers: string, message: object): Promise<string> {
    const connection = this.#connection();
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const answer = await connection.send(`${this.#head}${headers}content-length: ${body.length}\r\n\r\n${body}`);
    this.#free.push(connection);
    return answer;
  }

  close(): void {
    for (const connection of this.#free.splice(0)) connection.close();
  }

  /** Returns a connection that is still open. */
  #connection(): KeepAliveConnection {
    let connection = this.#free.pop();
    while (connection?.isClosed) connection = this.#free.pop();
    return connection ?? new KeepAliveConnection(connect(Number(this.#url.port), this.#url.hostname));
  }
}

/** Carries one request at a time. */
class KeepAliveConnection {
  readonly #socket: Socket;
  #received = '';
  #answered = Promise.withResolvers<string>();

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      this.#received += chunk;
      if (!isComplete(this.#received)) return;
      this.#answered.resolve(this.#received);
      this.#received = '';
    });
    socket.once('close', () => this.#answered.reject(new Error('The server closed the connection.')));
    socket.once('error', (error) => this.#answered.reject(error));
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  send(text: string): Promise<string> {
    this.#answered = Promise.withResolvers<string>();
    this.#socket.write(text);
    return this.#answered.promise;
  }

  close(): void {
    this.#socket.destroy();
  }
}

function isComplete(answer: string): boolean {
  const bodyAt = answer.indexOf('\r\n\r\n') + 4;
  if (bodyAt < 4) return false;
  const length = /^content-length: (\d+)/im.exec(answer)?.[1];
  return length === undefined ? answer.endsWith('0\r\n\r\n') : answer.length >= bodyAt + Number(length);
}
