// The WebSocket server of the fake.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { publishTyping } from './api/users.ts';
import { type Fields, isFields, text } from './http/call.ts';
import { ApiError } from './world/api-error.ts';
import type { User } from './world/model.ts';
import type { Broadcast, World } from './world/world.ts';

const loginMs = 5000;

/** Number of missed events after which a connection cannot be resumed. */
const remembered = 128;

interface Connection {
  /** Undefined while the client is disconnected; it may resume the connection. */
  socket: WebSocket | undefined;
  id: string;
  user: User | undefined;
  /** Sequence number of the next event of this connection. */
  seq: number;
  /** The latest events, sent or not. */
  past: { seq: number; line: string }[];
}

export class Sockets {
  readonly #world: World;
  readonly #server = new WebSocketServer({ noServer: true, autoPong: false });
  readonly #connections = new Set<Connection>();
  readonly #userOf: (authorization: string | undefined) => User | undefined;
  #frozen = false;

  constructor(world: World, userOf: (authorization: string | undefined) => User | undefined) {
    this.#world = world;
    this.#userOf = userOf;
    world.publish = (event, data, to) => this.#publish(event, data, to);
  }

  /** Authenticated connections. */
  get count(): number {
    return [...this.#connections].filter(({ user, socket }) => user && socket).length;
  }

  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    if (new URL(request.url ?? '/', 'http://fake').pathname !== '/api/v4/websocket') {
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (client) => this.#connected(client, request));
  };

  /** Breaks every connection, or closes it with a code. */
  disconnect(code?: number): void {
    for (const { socket } of this.#connections) {
      if (code === undefined) socket?.terminate();
      else socket?.close(code);
    }
  }

  /** Keeps connections open without any traffic, as behind a dead proxy. */
  freeze(frozen: boolean): void {
    this.#frozen = frozen;
  }

  close(): void {
    this.disconnect();
    this.#server.close();
  }

  /** Closes the connections of a user whose session ended. */
  logOut(userId: string): void {
    for (const { user, socket } of this.#connections) if (user?.id === userId) socket?.terminate();
  }

  #connected(socket: WebSocket, request: IncomingMessage): void {
    const user = this.#userOf(request.headers.authorization);
    const query = new URL(request.url ?? '/', 'http://fake').searchParams;
    const before = user && this.#known(user, query.get('connection_id'));
    const connection: Connection = before ?? this.#fresh();
    connection.socket = socket;
    this.#connections.add(connection);
    const late = setTimeout(() => {
      if (!connection.user) socket.close();
    }, loginMs).unref();
    socket.on('close', () => {
      clearTimeout(late);
      if (connection.user) connection.socket = undefined;
      else this.#connections.delete(connection);
    });
    socket.on('error', () => socket.terminate());
    socket.on('ping', (data) => {
      if (!this.#frozen) socket.pong(data);
    });
    socket.on('message', (data) => {
      if (!this.#frozen) this.#hear(connection, String(data));
    });
    if (before) this.#resume(before, Number(query.get('sequence_number')));
    else if (user) this.#logIn(connection, user);
  }

  #fresh(): Connection {
    return { socket: undefined, id: this.#world.newId(), user: undefined, seq: 0, past: [] };
  }

  #known(user: User, id: string | null): Connection | undefined {
    return [...this.#connections].find((other) => other.id === id && !other.socket && other.user === user);
  }

  /** Sends missed events; if they are no longer stored, sends a hello with a new connection id. */
  #resume(connection: Connection, next: number): void {
    const missed = connection.past.filter(({ seq }) => seq >= next);
    if (missed.length === connection.seq - next) {
      for (const { line } of missed) connection.socket?.send(line);
      return;
    }
    Object.assign(connection, { id: this.#world.newId(), seq: 0, past: [] });
    if (connection.user) this.#logIn(connection, connection.user);
  }

  #logIn(connection: Connection, user: User): void {
    connection.user = user;
    const data = { connection_id: connection.id, server_version: `${this.#world.options.version}.0` };
    this.#tell(connection, { event: 'hello', data, broadcast: broadcast({ user_id: user.id }) });
  }

  #hear(connection: Connection, line: string): void {
    const message = parsed(line);
    if (!isFields(message)) return;
    const { action, seq } = message;
    const data = isFields(message.data) ? message.data : {};
    const answer =
      typeof seq === 'number' && seq > 0
        ? this.#act(connection, String(action), data)
        : refusal('bad_seq', 'Invalid sequence for WebSocket message.');
    if (answer) connection.socket?.send(JSON.stringify({ ...answer, seq_reply: seq }));
  }

  #act(connection: Connection, action: string, data: Fields): Fields | undefined {
    if (action === 'authentication_challenge') {
      const user = this.#userOf(`Bearer ${text(data, 'token')}`);
      if (!user) {
        // the real server closes the connection on a bad token
        connection.socket?.close();
        return undefined;
      }
      if (!connection.user) this.#logIn(connection, user);
      return { status: 'OK' };
    }
    if (action === 'ping') {
      const { version } = this.#world.options;
      return { status: 'OK', data: { text: 'pong', version, server_time: Date.now() } };
    }
    const { user } = connection;
    if (!user) return refusal('not_authenticated', 'WebSocket connection is not authenticated.');
    if (action !== 'user_typing') return refusal('bad_action', 'Unknown WebSocket action.');
    publishTyping(this.#world, { user, channelId: text(data, 'channel_id'), rootId: text(data, 'parent_id') });
    return { status: 'OK' };
  }

  #publish(event: string, data: Record<string, unknown>, to: Partial<Broadcast>): void {
    for (const connection of this.#connections) {
      if (connection.user && this.#isFor(connection.user, to)) {
        this.#tell(connection, { event, data, broadcast: broadcast(to) });
      }
    }
  }

  #isFor(user: User, to: Partial<Broadcast>): boolean {
    if (to.omit_users?.[user.id]) return false;
    if (to.user_id) return to.user_id === user.id;
    if (to.channel_id) return this.#world.member(to.channel_id, user.id) !== undefined;
    if (to.team_id) return this.#world.teamMember(to.team_id, user.id) !== undefined;
    return true;
  }

  #tell(connection: Connection, event: Record<string, unknown>): void {
    const seq = connection.seq++;
    const line = JSON.stringify({ ...event, seq });
    connection.past.push({ seq, line });
    if (connection.past.length > remembered) connection.past.shift();
    // events lost while frozen leave a gap in the sequence numbers
    if (!this.#frozen) connection.socket?.send(line);
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function refusal(id: string, message: string): Fields {
  return { status: 'FAIL', error: new ApiError(400, `api.web_socket_router.${id}.app_error`, { message }).toJson('') };
}

function broadcast(to: Partial<Broadcast>): Broadcast & { connection_id: string; omit_connection_id: string } {
  return {
    omit_users: null,
    user_id: '',
    channel_id: '',
    team_id: '',
    connection_id: '',
    omit_connection_id: '',
    ...to,
  };
}
