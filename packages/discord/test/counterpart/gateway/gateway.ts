// The gateway: sessions that identify, get events, disconnect and resume.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  GatewayCloseCodes as Close,
  GatewayDispatchEvents as Event,
  type GatewayIdentifyData,
  GatewayIntentBits,
  type GatewayReceivePayload,
  type GatewayRequestGuildMembersData,
  type GatewayResumeData,
  type GatewaySendPayload,
  GatewayOpcodes as Op,
} from 'discord-api-types/v10';
import { type WebSocket, WebSocketServer } from 'ws';
import { can } from '../state/permissions.ts';
import type { Guild } from '../state/records.ts';
import { applicationJson, memberJson, wholeGuildJson } from '../state/to-json.ts';
import type { Dispatch, World } from '../state/world.ts';
import { hasIntent, hears, PRIVILEGED, readable } from './intents.ts';
import { Session, type Shard } from './session.ts';

interface GatewayOptions {
  token: string;
  heartbeatIntervalMs: number;
  /** Privileged intents that are turned on for the application. */
  privilegedIntents: number;
}

export interface DropOptions {
  /** Whether sessions can be resumed. */
  resumable?: boolean;
  /** `cut`: the connection breaks; `reconnect`: Discord asks for it (opcode 7); `invalid`: opcode 9; `revoked`: close code 4004. */
  how?: 'cut' | 'reconnect' | 'invalid' | 'revoked';
  /** Only this shard. */
  shard?: number;
  /** New connections are refused until this settles. */
  until?: Promise<unknown>;
}

interface GatewayLogEntry {
  at: number;
  kind: 'identify' | 'resume' | 'invalid-session' | 'closed' | 'dropped' | 'refused';
  shard?: Shard;
  /** How many events RESUME replayed. */
  replayed?: number;
  code?: number;
}

const FRAMES_PER_MINUTE = 120;

export class Gateway {
  readonly log: GatewayLogEntry[] = [];
  /** If false, heartbeats are not acknowledged and clients reconnect. */
  acknowledgesHeartbeats = true;
  url = '';
  readonly #world: World;
  readonly #options: GatewayOptions;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #sessions = new Map<string, Session>();
  readonly #stopListening: () => void;
  #refusing = 0;

  constructor(world: World, options: GatewayOptions) {
    this.#world = world;
    this.#options = options;
    this.#stopListening = world.onDispatch((dispatch) => this.#spread(dispatch));
  }

  /** Sessions with a live connection. */
  get sessions(): Pick<Session, 'shard' | 'intents' | 'presence'>[] {
    return [...this.#sessions.values()].filter(({ socket }) => socket);
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#refusing > 0) {
      this.#note({ kind: 'refused' });
      socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) => this.#welcome(webSocket));
  }

  drop({ resumable = true, how = 'cut', shard, until }: DropOptions = {}): void {
    if (until) {
      this.#refusing++;
      const open = () => {
        this.#refusing--;
      };
      until.then(open, open);
    }
    for (const session of [...this.#sessions.values()]) {
      if (shard !== undefined && session.shard[0] !== shard) continue;
      const { socket } = session;
      if (!resumable) this.#sessions.delete(session.id);
      if (!socket) continue;
      this.#note({ kind: 'dropped', shard: session.shard });
      if (how === 'reconnect') send(socket, { op: Op.Reconnect });
      else session.socket = undefined;
      if (how === 'invalid') send(socket, { op: Op.InvalidSession, d: resumable });
      if (how === 'cut') socket.terminate();
      if (how === 'revoked') socket.close(Close.AuthenticationFailed);
    }
  }

  close(): void {
    this.#stopListening();
    for (const client of this.#server.clients) client.terminate();
    this.#server.close();
  }

  #welcome(socket: WebSocket): void {
    let session: Session | undefined;
    let frames = 0;
    const isAuthenticated = () => session?.socket === socket;
    const { heartbeatIntervalMs } = this.#options;
    const minute = setInterval(() => {
      frames = 0;
    }, 60_000).unref();
    const silence = setTimeout(() => socket.close(Close.SessionTimedOut), heartbeatIntervalMs * 2).unref();
    socket.on('error', () => socket.terminate());
    socket.on('close', (code) => {
      clearInterval(minute);
      clearTimeout(silence);
      if (!session) return;
      this.#note({ kind: 'closed', shard: session.shard, code });
      if (session.socket === socket) session.socket = undefined;
      // a client that closes normally does not resume
      if (code === 1000 || code === 1001) this.#sessions.delete(session.id);
      this.#world.changed();
    });
    socket.on('message', (bytes) => {
      if (++frames > FRAMES_PER_MINUTE) return socket.close(Close.RateLimited);
      let frame: GatewaySendPayload;
      try {
        frame = JSON.parse(String(bytes));
      } catch {
        return socket.close(Close.DecodeError);
      }
      switch (frame.op) {
        case Op.Heartbeat:
          silence.refresh();
          if (this.acknowledgesHeartbeats) send(socket, { op: Op.HeartbeatAck });
          return;
        case Op.Identify:
          if (isAuthenticated()) return socket.close(Close.AlreadyAuthenticated);
          session = this.#identify(socket, frame.d);
          return;
        case Op.Resume:
          if (isAuthenticated()) return socket.close(Close.AlreadyAuthenticated);
          session = this.#resume(socket, frame.d);
          return;
        case Op.PresenceUpdate:
          if (!session) return socket.close(Close.NotAuthenticated);
          session.presence = frame.d;
          return this.#world.changed();
        case Op.RequestGuildMembers:
          if (!session) return socket.close(Close.NotAuthenticated);
          return this.#sendMembers(session, frame.d);
        case Op.VoiceStateUpdate:
          return;
        default:
          return socket.close(Close.UnknownOpcode);
      }
    });
    send(socket, { op: Op.Hello, d: { heartbeat_interval: heartbeatIntervalMs } });
  }

  #identify(socket: WebSocket, data: GatewayIdentifyData): Session | undefined {
    const shard = data.shard ?? [0, 1];
    if (data.token.replace(/^Bot /, '') !== this.#options.token) return refuse(socket, Close.AuthenticationFailed);
    if (shard[0] < 0 || shard[0] >= shard[1]) return refuse(socket, Close.InvalidShard);
    if (!Number.isInteger(data.intents) || data.intents < 0) return refuse(socket, Close.InvalidIntents);
    if ((data.intents & PRIVILEGED & ~this.#options.privilegedIntents) !== 0) {
      return refuse(socket, Close.DisallowedIntents);
    }
    const session = new Session({ intents: data.intents, shard, socket });
    session.presence = data.presence;
    this.#sessions.set(session.id, session);
    this.#note({ kind: 'identify', shard });
    const guilds = [...this.#world.guilds.values()].filter(
      (guild) => guild.members.has(this.#world.bot.id) && session.covers(guild.id),
    );
    session.push(Event.Ready, {
      v: 10,
      user: this.#world.bot,
      guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
      session_id: session.id,
      resume_gateway_url: this.url,
      session_type: 'normal',
      private_channels: [],
      shard,
      application: applicationJson(this.#world),
    });
    if (hasIntent(session.intents, GatewayIntentBits.Guilds)) {
      for (const guild of guilds) session.push(Event.GuildCreate, this.#guildFor(session, guild));
    }
    return session;
  }

  #resume(socket: WebSocket, data: GatewayResumeData): Session | undefined {
    if (data.token.replace(/^Bot /, '') !== this.#options.token) return refuse(socket, Close.AuthenticationFailed);
    const session = this.#sessions.get(data.session_id);
    if (!session?.remembers(data.seq)) {
      this.#note({ kind: 'invalid-session' });
      send(socket, { op: Op.InvalidSession, d: false });
      return undefined;
    }
    if (data.seq > session.sequence) return refuse(socket, Close.InvalidSeq);
    const replayed = session.resume(socket, data.seq);
    this.#note({ kind: 'resume', shard: session.shard, replayed });
    session.push(Event.Resumed, {});
    return session;
  }

  #spread(dispatch: Dispatch): void {
    const { guildId, channel, event } = dispatch;
    const bot = this.#world.bot;
    if (channel && !can(this.#world, { userId: bot.id, channel, permission: 'ViewChannel' })) return;
    for (const session of this.#sessions.values()) {
      if (!session.covers(guildId) || !hears(session.intents, dispatch)) continue;
      const guild = event === Event.GuildCreate && guildId !== undefined ? this.#world.guild(guildId) : undefined;
      const data = guild
        ? this.#guildFor(session, guild)
        : readable(dispatch, { intents: session.intents, botId: bot.id });
      session.push(event, data);
    }
  }

  #guildFor(session: Session, guild: Guild): object {
    const everyone = hasIntent(session.intents, GatewayIntentBits.GuildPresences);
    const members = [...guild.members.values()].filter(({ user }) => everyone || user.id === this.#world.bot.id);
    return wholeGuildJson(this.#world, guild, { members });
  }

  #sendMembers(session: Session, { guild_id, nonce, ...wanted }: GatewayRequestGuildMembersData): void {
    const ids = 'user_ids' in wanted ? [wanted.user_ids ?? []].flat() : undefined;
    const start = 'query' in wanted ? (wanted.query ?? '').toLowerCase() : '';
    const members = [...this.#world.guild(String(guild_id)).members.values()].filter(({ user }) =>
      ids ? ids.includes(user.id) : user.username.toLowerCase().startsWith(start),
    );
    const data = { guild_id, members: members.map(memberJson), chunk_index: 0, chunk_count: 1, not_found: [], nonce };
    session.push(Event.GuildMembersChunk, data);
  }

  #note(entry: Omit<GatewayLogEntry, 'at'>): void {
    this.log.push({ at: Date.now(), ...entry });
    this.#world.changed();
  }
}

function send(socket: WebSocket, payload: Partial<GatewayReceivePayload>): void {
  socket.send(JSON.stringify({ d: null, s: null, t: null, ...payload }));
}

function refuse(socket: WebSocket, code: Close): undefined {
  socket.close(code);
}
