// A gateway session: the events that one shard received, so that RESUME can replay them.
import { randomUUID } from 'node:crypto';
import { type GatewayDispatchEvents, GatewayOpcodes, type GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { WebSocket } from 'ws';
import { shardOf } from '../state/snowflake.ts';

export type Shard = readonly [id: number, count: number];

const MAX_REPLAYED = 10_000;

export class Session {
  readonly id = randomUUID();
  readonly intents: number;
  readonly shard: Shard;
  presence: GatewayPresenceUpdateData | undefined;
  /** Undefined while the client is disconnected. */
  socket: WebSocket | undefined;
  sequence = 0;
  readonly #sent: { sequence: number; frame: string }[] = [];

  constructor({ intents, shard, socket }: { intents: number; shard: Shard; socket: WebSocket }) {
    this.intents = intents;
    this.shard = shard;
    this.socket = socket;
  }

  /** The first shard gets direct messages and events without a guild. */
  covers(guildId: string | undefined): boolean {
    const [id, count] = this.shard;
    return guildId === undefined ? id === 0 : shardOf(guildId, count) === id;
  }

  push(event: GatewayDispatchEvents, data: object): void {
    const sequence = ++this.sequence;
    const frame = JSON.stringify({ op: GatewayOpcodes.Dispatch, t: event, s: sequence, d: data });
    this.#sent.push({ sequence, frame });
    if (this.#sent.length > MAX_REPLAYED) this.#sent.shift();
    this.socket?.send(frame);
  }

  /** Attaches a new connection and replays events after `sequence`; returns their number. */
  resume(socket: WebSocket, sequence: number): number {
    this.socket?.terminate();
    this.socket = socket;
    const missed = this.#sent.filter((sent) => sent.sequence > sequence);
    for (const { frame } of missed) socket.send(frame);
    return missed.length;
  }

  remembers(sequence: number): boolean {
    return (this.#sent[0]?.sequence ?? 1) <= sequence + 1;
  }
}
