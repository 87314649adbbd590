// Registers, updates and removes agents.
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Caller } from '../../base/agent3.ts';
import { Agent3Error } from '../../base/agent3-error.ts';
import type { CardJson, ClaimResult, Credential, Price, RateLimit, Registration } from '../../base/agents.ts';
import { checkInput } from '../../base/check-input.ts';
import { digestOf } from '../../base/digest.ts';
import { registerRequest } from '../../base/requests.ts';
import { addressesOf, serviceOf } from '../../cards/addresses.ts';
import { type Card, hostsOf, OWNER_EXTENSION, protocolsOf, readCard, tagsOf, titleOf } from '../../cards/card.ts';
import type { CardChecks, CheckedCard } from '../../cards/card-checks.ts';
import { type AgentRow, parse } from '../records/listing.ts';
import { NEW_RECORD, standingOf } from '../records/ranking.ts';
import type { AgentTable, FormerTable, RegistrySchema } from '../records/schema.ts';
import type { SemanticIndex } from '../search/semantic-index.ts';
import { embeddingText, type TextIndex, textsOf } from '../search/text-index.ts';
import type { Vocabulary } from '../search/words.ts';
import type { CredentialStore } from './credentials.ts';
import { inheritedPrice, putEndpoints } from './endpoint-prices.ts';
import { identityOf, newId } from './identity.ts';
import { inheritedRecord } from './inherited-record.ts';
import { checkOwner, checkPrice, checkRight, notTheOwner, proofRequired } from './ownership.ts';
import { type Proof, type Proofs, provenOwners } from './proofs.ts';

interface Envelope {
  price?: Price | undefined;
  mayLowerPrice?: boolean | undefined;
  rateLimit?: RateLimit | undefined;
  tags?: readonly string[] | undefined;
  idempotent?: boolean | undefined;
  credentials?: readonly Credential[] | undefined;
}

interface PricedAgent {
  known: AgentRow | undefined;
  checked: CheckedCard;
  caller: Caller;
  price: Price | undefined;
}

interface PutRow {
  identity: string;
  columns: CardColumns & EnvelopeColumns & Pick<AgentRow, 'own_tags' | 'health_due'>;
  /** The agent, if it is registered. */
  known: AgentRow | undefined;
  /** The agent, or its record from an earlier registration. */
  before: AgentRow | FormerTable | undefined;
  caller: Caller;
  isTakenOver: boolean;
  proof: Proof | undefined;
}

interface PutCard {
  checked: CheckedCard;
  envelope: Envelope;
  caller: Caller;
  proof: Proof | undefined;
}

interface PutResult {
  number: number;
  id: string;
  hidden: string | null;
}

interface WrittenCard {
  id: string;
  card: Card;
}

interface RegistrationsOptions {
  db: Kysely<RegistrySchema>;
  index: TextIndex;
  vocabulary: Vocabulary;
  semanticIndex: SemanticIndex | undefined;
  checks: CardChecks;
  credentials: CredentialStore;
  proofs: Proofs;
  /** Only proven owners and admins may register. */
  requireProof: boolean;
  now: () => number;
}

export class Registrations {
  readonly #options: RegistrationsOptions;

  constructor(options: RegistrationsOptions) {
    this.#options = options;
  }

  /** Returns the id of the agent. Registering the same card URL again changes only the given fields. */
  async register(registration: Registration, caller: Caller): Promise<string> {
    const { cardUrl, card, mcpUrl, server, ...envelope } = checkInput(registerRequest, registration);
    const { proofs, requireProof } = this.#options;
    const checked = await this.#read({ cardUrl, card, mcpUrl, server });
    const isRequired = requireProof && !caller.isAdmin;
    const proof = isRequired ? await proofs.find(checked, caller) : proofs.inCard(checked, caller);
    if (isRequired && !proof) throw proofRequired(proofs.fileFor(checked, caller));
    return this.#write({ checked, envelope, caller, proof });
  }

  #read({ cardUrl, card, mcpUrl, server }: Registration): Promise<CheckedCard> {
    const { checks } = this.#options;
    if (cardUrl !== undefined) return checks.fetch(cardUrl);
    if (mcpUrl !== undefined) return checks.serverAt(mcpUrl);
    return server ? checks.server(server) : checks.check(withoutServer(card ?? {}));
  }

  /** Makes the caller the owner of the agent if there is a proof. Otherwise says what would be one. */
  async claim(row: AgentRow & { card: string }, caller: Caller): Promise<ClaimResult> {
    const { checks, proofs } = this.#options;
    const checked =
      row.card_url === null ? await checks.check(parse<CardJson>(row.card)) : await checks.fetch(row.card_url);
    const proof = await proofs.find(checked, caller);
    const file = proofs.fileFor(checked, caller);
    if (!proof)
      return {
        proved: false,
        ...(file ? { file } : {}),
        message: file
          ? `Serve the line ${file.content} at ${file.url}, then claim the agent again.`
          : `Name yourself in the card and sign it: { uri: "${OWNER_EXTENSION}", params: { owners: ["${caller.id}"] } }`,
      };
    await this.#transfer(row, { checked, caller, proof });
    return { proved: true, proof, message: 'The agent is yours.' };
  }

  /** Drops what an earlier owner set. */
  async #transfer(row: AgentRow, { checked, caller, proof }: Omit<PutCard, 'envelope'> & { proof: Proof }) {
    const { db, credentials } = this.#options;
    await db.transaction().execute(async (transaction) => {
      const isTakenOver = row.owner !== caller.id;
      const identity = row.card_url === null ? identityOf(checked, caller) : row.identity;
      const other = identity === row.identity ? undefined : await findByIdentity(transaction, identity);
      if (other)
        throw new Agent3Error('INPUT_INVALID', `You have registered the same agent as "${other.id}"; remove one`);
      const changed = await transaction
        .updateTable('agent3_agents')
        .set({ owner: caller.id, proof, identity, ...(isTakenOver ? { ...unsetEnvelope, own_tags: '[]' } : {}) })
        .where('id', '=', row.id)
        .where('owner', '=', row.owner)
        .returning('number')
        .executeTakeFirst();
      if (!changed) throw notTheOwner();
      if (isTakenOver) await credentials.remove(transaction, changed);
    });
  }

  /** Hides the agent from searches, or shows it again. */
  async setHidden(row: AgentRow & { card: string }, hidden: string | null): Promise<void> {
    const { db, index } = this.#options;
    await db.transaction().execute(async (transaction) => {
      const changed = await transaction
        .updateTable('agent3_agents')
        .set({ hidden })
        .where('id', '=', row.id)
        .returning(['number', 'tags'])
        .executeTakeFirst();
      if (!changed) return;
      const texts = textsOf(readCard(parse<CardJson>(row.card)), parse<string[]>(changed.tags));
      if (hidden === null) await index.write(transaction, changed.number, texts);
      else await index.remove(transaction, changed.number);
    });
  }

  /** Registers many cards in one transaction. */
  async importCards(cards: readonly CardJson[], caller: Caller): Promise<void> {
    const checked = await Promise.all(cards.map((card) => this.#options.checks.check(card)));
    const written: WrittenCard[] = [];
    await this.#options.db.transaction().execute(async (transaction) => {
      for (const card of checked)
        written.push({
          ...(await this.#put(transaction, { checked: card, envelope: {}, caller, proof: undefined })),
          card: card.card,
        });
    });
    await this.#learn(written);
  }

  /** Keeps the agent's track record, so that registering it again does not clear bad ratings. */
  async unregister({ id }: AgentRow, caller: Caller): Promise<void> {
    const { db, index } = this.#options;
    await db.transaction().execute(async (transaction) => {
      // read again: SQLite reuses row numbers, so by now the number may belong to another owner's agent
      const row = await transaction
        .selectFrom('agent3_agents')
        .select(['number', 'owner'])
        .where('id', '=', id)
        .executeTakeFirst();
      if (!row) return;
      checkOwner(row.owner, caller);
      await index.remove(transaction, row.number);
      const former = await transaction
        .deleteFrom('agent3_agents')
        .where('number', '=', row.number)
        .returning(formerColumns)
        .executeTakeFirst();
      if (!former || former.calls === 0) return;
      await transaction
        .insertInto('agent3_former')
        .values(former)
        .onConflict((conflict) => conflict.column('identity').doUpdateSet(former))
        .execute();
    });
  }

  /** Stores a refreshed card and keeps the rest of the registration. Does nothing if the agent has been removed. */
  async replaceCard({ id, owner }: AgentRow, checked: CheckedCard): Promise<void> {
    const { db, now } = this.#options;
    const isReplaced = await db.transaction().execute(async (transaction) => {
      // the update locks the row until the end of the transaction
      const row = await transaction
        .updateTable('agent3_agents')
        .set({ refreshed_at: now() })
        .where('id', '=', id)
        .where('owner', '=', owner)
        .returning(['number', 'own_tags', 'hidden', 'proof'])
        .executeTakeFirst();
      if (!row) return false;
      const tags = tagsOf(checked.card, parse<string[]>(row.own_tags));
      const isRevoked = row.proof !== 'file' && !provenOwners(checked)?.includes(owner);
      const columns = { ...cardColumns(checked, tags, now()), ...(isRevoked ? { proof: null } : {}) };
      await transaction.updateTable('agent3_agents').set(columns).where('number', '=', row.number).execute();
      await this.#putParts(transaction, { ...row, checked, tags });
      return true;
    });
    if (isReplaced) await this.#learn([{ id, card: checked.card }]);
  }

  async #write(put: PutCard): Promise<string> {
    const { db } = this.#options;
    const { id } = await db.transaction().execute((transaction) => this.#put(transaction, put));
    await this.#learn([{ id, card: put.checked.card }]);
    return id;
  }

  /** Updates the vocabulary and vectors of the search, outside of the transaction. */
  async #learn(written: readonly WrittenCard[]): Promise<void> {
    const { vocabulary, semanticIndex } = this.#options;
    await vocabulary.learn(written.map(({ card }) => textsOf(card, tagsOf(card))));
    await semanticIndex?.learn(written.map(({ id, card }) => ({ id, text: embeddingText(card) })));
  }

  async #put(
    transaction: Transaction<RegistrySchema>,
    { checked, envelope, caller, proof }: PutCard,
  ): Promise<{ id: string }> {
    const identity = identityOf(checked, caller);
    const known = await findByIdentity(transaction, identity);
    const isTakenOver = checkRight(known, { checked, caller, proof });
    if (envelope.mayLowerPrice === false && !isTakenOver)
      await this.#checkNotCheaper(transaction, { known, checked, caller, price: envelope.price });
    const before = known ?? (await takeFormer(transaction, identity));
    const ownTags = [...(envelope.tags ?? (known && !isTakenOver ? parse<string[]>(known.own_tags) : []))];
    const tags = tagsOf(checked.card, ownTags);
    const now = this.#options.now();
    const columns = {
      ...cardColumns(checked, tags, now),
      ...(isTakenOver ? unsetEnvelope : {}),
      ...envelopeColumns(envelope),
      own_tags: JSON.stringify(ownTags),
      health_due: now,
    };
    const row = await this.#upsert(transaction, { identity, columns, known, before, caller, isTakenOver, proof });
    await this.#putParts(transaction, { ...row, checked, tags });
    const { credentials } = this.#options;
    if (isTakenOver) await credentials.remove(transaction, row);
    if (envelope.credentials)
      await credentials.put(transaction, row, { credentials: envelope.credentials, hosts: hostsOf(checked.card) });
    return row;
  }

  /** Throws if the agent, or an agent at the same addresses, was registered with a higher price. */
  async #checkNotCheaper(transaction: Transaction<RegistrySchema>, put: PricedAgent): Promise<void> {
    const { known, checked, caller, price } = put;
    const registeredAt = known?.registered_at ?? this.#options.now();
    const others = { addresses: addressesOf(checked.json), owner: caller.id, registeredAt };
    checkPrice(known?.price ?? (await inheritedPrice(transaction, others)), price);
  }

  async #upsert(transaction: Transaction<RegistrySchema>, put: PutRow): Promise<PutResult> {
    const { identity, columns, known, before, caller, isTakenOver, proof } = put;
    const now = this.#options.now();
    const { host, service } = columns;
    const record = before ?? (await inheritedRecord(transaction, { owner: caller.id, host, service }, now));
    const standing = standingOf({ ...NEW_RECORD, ...record, ...columns }, now);
    const row = await transaction
      .insertInto('agent3_agents')
      .values({
        ...unset,
        ...columns,
        ...recordColumns(record),
        prior_rating: 'prior_rating' in record ? record.prior_rating : null,
        id: before?.id ?? newId(columns.name),
        identity,
        owner: caller.id,
        proof: proof ?? null,
        standing,
        registered_at: now,
      })
      // another hub may have inserted it in between; then only its owner may update it
      .onConflict((conflict) =>
        conflict
          .column('identity')
          .doUpdateSet({
            ...columns,
            standing,
            ...(proof ? { proof } : {}),
            ...(isTakenOver ? { owner: caller.id } : {}),
          })
          .where('agent3_agents.owner', '=', known?.owner ?? caller.id),
      )
      .returning(['number', 'id', 'hidden'])
      .executeTakeFirst();
    if (!row) throw notTheOwner();
    return row;
  }

  /** Writes the card, the search index and the endpoints of an agent. */
  async #putParts(
    transaction: Transaction<RegistrySchema>,
    { number, hidden, checked, tags }: Omit<PutResult, 'id'> & { checked: CheckedCard; tags: readonly string[] },
  ): Promise<void> {
    const card = JSON.stringify(checked.json);
    await transaction
      .insertInto('agent3_cards')
      .values({ agent_number: number, card })
      .onConflict((conflict) => conflict.column('agent_number').doUpdateSet({ card }))
      .execute();
    const texts = textsOf(checked.card, tags);
    if (hidden === null) await this.#options.index.write(transaction, number, texts);
    await putEndpoints(transaction, number, addressesOf(checked.json));
  }
}

function findByIdentity(transaction: Transaction<RegistrySchema>, identity: string): Promise<AgentRow | undefined> {
  return transaction.selectFrom('agent3_agents').selectAll().where('identity', '=', identity).executeTakeFirst();
}

/** The record of a removed agent. The delete makes concurrent registrations of the same agent wait for each other. */
function takeFormer(transaction: Transaction<RegistrySchema>, identity: string): Promise<FormerTable | undefined> {
  return transaction
    .deleteFrom('agent3_former')
    .where('identity', '=', identity)
    .returning(formerColumns)
    .executeTakeFirst();
}

/** Only `server` and `mcpUrl` register MCP servers; a card cannot pass for one. */
function withoutServer({ mcpServer: _mcpServer, ...card }: CardJson): CardJson {
  return card;
}

type CardColumns = ReturnType<typeof cardColumns>;

function cardColumns(checked: CheckedCard, tags: readonly string[], now: number) {
  const { card, json, url, etag, freshMs, isVerified } = checked;
  return {
    ...titleOf(card),
    ...serviceOf(json),
    card_url: url ?? null,
    digest: digestOf(json),
    etag: etag ?? null,
    verified: isVerified ? 1 : 0,
    tags: JSON.stringify(tags),
    protocols: JSON.stringify(protocolsOf(card)),
    refreshed_at: now,
    fresh_until: now + (freshMs ?? 0),
  };
}

const unsetEnvelope = { price: null, price_per_call: null, rate_calls: null, rate_seconds: null, idempotent: 0 };
const unset = { ...unsetEnvelope, latency: null };

const formerColumns = [
  'identity',
  'id',
  'owner',
  'host',
  'service',
  'calls',
  'successes',
  'latency',
  'rating_count',
  'rating_sum',
  'rating_weight',
] as const satisfies readonly (keyof FormerTable)[];

type CountedColumns = Omit<FormerTable, 'identity' | 'id' | 'owner' | 'host' | 'service'>;

function recordColumns({ calls, successes, latency, rating_count, rating_sum, rating_weight }: CountedColumns) {
  return { calls, successes, latency, rating_count, rating_sum, rating_weight };
}

type EnvelopeColumns = Partial<
  Pick<Selectable<AgentTable>, 'price' | 'price_per_call' | 'rate_calls' | 'rate_seconds' | 'idempotent'>
>;

function envelopeColumns({ price, rateLimit, idempotent }: Envelope): EnvelopeColumns {
  return {
    ...(price
      ? { price: JSON.stringify(price), price_per_call: price.currency === 'USD' ? (price.perCall ?? null) : null }
      : {}),
    ...(rateLimit ? { rate_calls: rateLimit.calls, rate_seconds: rateLimit.perSeconds } : {}),
    ...(idempotent === undefined ? {} : { idempotent: idempotent ? 1 : 0 }),
  };
}
