// The OAuth logins of members at the MCP servers of their guild: each member has tokens of their own, encrypted in the database.
import { CallerLogin, KeptLogins, type LoginState } from '@pocket-agent/gateway/internal/logins';
import { dropOldest } from '@pocket-agent/kit';
import { sql } from 'kysely';
import type { BotDatabase } from '../store/schema.ts';

/** A server of a guild, and the member who logs in. */
export interface MemberAt {
  guildId: string;
  userId: string;
  name: string;
  url: string;
  /** What the login asks for; empty for the default of the server. */
  scope: string;
}

/** More than the members who are active at a time; a login that is dropped is read again. */
const MAX_LOGINS = 1_000;

export class MemberLogins {
  readonly #db: BotDatabase;
  readonly #kept: KeptLogins;
  readonly #logins = new Map<string, CallerLogin>();

  /** `key` encrypts the tokens. */
  constructor(db: BotDatabase, key: string) {
    this.#db = db;
    this.#kept = new KeptLogins(stateOf(db), key);
  }

  /** The same for each connection of a member, so that requests share one renewal. */
  of({ guildId, userId, name, url, scope }: MemberAt): CallerLogin {
    const key = JSON.stringify([guildId, userId, name, url, scope]);
    const known =
      this.#logins.get(key) ??
      new CallerLogin({
        caller: userId,
        name,
        server: `${prefixOf({ guildId, name })}${url}`,
        settings: scope === '' ? {} : { scope },
        kept: this.#kept,
        gateway: 'Pocket Agent on Discord',
        advice: `Use /login server:${name} first.`,
      });
    this.#logins.delete(key);
    this.#logins.set(key, known);
    dropOldest(this.#logins, MAX_LOGINS);
    return known;
  }

  /** Forgets the logins of all members at a server of a guild, or at all of them. */
  async forget(server: { guildId: string; name?: string }): Promise<void> {
    this.#logins.clear();
    const prefix = prefixOf(server);
    await this.#db
      .deleteFrom('discord_logins')
      .where(({ or }) => or([startsWith(prefix), startsWith(`page:${prefix}`)]))
      .execute();
  }
}

/** Names of servers have neither blanks nor slashes. */
function prefixOf({ guildId, name }: { guildId: string; name?: string }): string {
  return name === undefined ? `${guildId}/` : `${guildId}/${name} `;
}

function startsWith(prefix: string) {
  return sql<boolean>`substr(server, 1, ${prefix.length}) = ${prefix}`;
}

function stateOf(db: BotDatabase): LoginState {
  return {
    login: async ({ caller, server }) => {
      const rows = db.selectFrom('discord_logins').select('login').where('person', '=', caller);
      return (await rows.where('server', '=', server).executeTakeFirst())?.login;
    },
    saveLogin: async ({ caller: person, server }, login, replaces) => {
      if (login === undefined) {
        let removed = db.deleteFrom('discord_logins').where('person', '=', person).where('server', '=', server);
        if (replaces !== undefined) removed = removed.where('login', '=', replaces);
        await removed.execute();
      } else if (replaces !== undefined) {
        const changed = db.updateTable('discord_logins').set({ login }).where('person', '=', person);
        await changed.where('server', '=', server).where('login', '=', replaces).execute();
      } else {
        await db
          .insertInto('discord_logins')
          .values({ person, server, login })
          .onConflict((known) => known.columns(['person', 'server']).doUpdateSet({ login }))
          .execute();
      }
    },
  };
}
