// Stores the credentials of agents, encrypted by the vault.
import type { Kysely } from 'kysely';
import type { Credential } from '../../base/agents.ts';
import { hostsOf, readCard } from '../../cards/card.ts';
import type { Sealed, Vault } from '../../credentials/vault.ts';
import { parse } from '../records/listing.ts';
import type { RegistrySchema } from '../records/schema.ts';

export class CredentialStore {
  readonly #db: Kysely<RegistrySchema>;
  readonly #vault: Vault;

  constructor(db: Kysely<RegistrySchema>, vault: Vault) {
    this.#db = db;
    this.#vault = vault;
  }

  async put(db: Kysely<RegistrySchema>, agent: { id: string; number: number }, content: Sealed): Promise<void> {
    const sealed = this.#vault.seal(agent.id, content);
    await db
      .insertInto('agent3_credentials')
      .values({ agent_number: agent.number, sealed })
      .onConflict((conflict) => conflict.column('agent_number').doUpdateSet({ sealed }))
      .execute();
  }

  async remove(db: Kysely<RegistrySchema>, { number }: { number: number }): Promise<void> {
    await db.deleteFrom('agent3_credentials').where('agent_number', '=', number).execute();
  }

  /** The kinds and hosts of the credentials of an owner's agents, by agent id; never a secret. */
  async kindsOf(owner: string): Promise<Map<string, { type: string; scheme?: string; host?: string }[]>> {
    const rows = await this.#db
      .selectFrom('agent3_credentials')
      .innerJoin('agent3_agents', 'number', 'agent_number')
      .select(['id', 'sealed'])
      .where('owner', '=', owner)
      .execute();
    return new Map(
      rows.map(({ id, sealed }) => [
        id,
        this.#vault.open(id, sealed).content.credentials.map(({ type, scheme, host }) => ({
          type,
          ...(scheme === undefined ? {} : { scheme }),
          ...(host === undefined ? {} : { host }),
        })),
      ]),
    );
  }

  /** Empty if the card names a host it did not name at registration: its owner must register it again. */
  async find(agentId: string): Promise<readonly Credential[]> {
    const row = await this.#db
      .selectFrom('agent3_credentials')
      .innerJoin('agent3_agents', 'number', 'agent3_credentials.agent_number')
      .innerJoin('agent3_cards', 'agent3_cards.agent_number', 'number')
      .select(['id', 'number', 'sealed', 'card'])
      .where('id', '=', agentId)
      .executeTakeFirst();
    if (!row) return [];
    const { content, isOld } = this.#vault.open(agentId, row.sealed);
    if (isOld) await this.#sealAgain(row, content);
    const isKnown = hostsOf(readCard(parse(row.card))).every((host) => content.hosts.includes(host));
    return isKnown ? content.credentials : [];
  }

  /** Encrypts with the current key. Does nothing if the row was changed or removed since it was read. */
  async #sealAgain(
    { id, number, sealed }: { id: string; number: number; sealed: string },
    content: Sealed,
  ): Promise<void> {
    await this.#db
      .updateTable('agent3_credentials')
      .set({ sealed: this.#vault.seal(id, content) })
      .where('agent_number', '=', number)
      .where('sealed', '=', sealed)
      .execute();
  }
}
