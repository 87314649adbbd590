// The channel resources a client has subscribed to; each is watched once, regardless of the number of subscriptions.

/** Resolves with a function that ends the watch. */
type Watch = (uri: string) => Promise<() => void>;

export class Subscriptions {
  readonly #watch: Watch;
  /** By URI: the watch and the ids of its subscribers. */
  readonly #open = new Map<string, { watch: Promise<() => void>; owners: Set<string | number> }>();

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  async add(uri: string, owner: string | number = ''): Promise<void> {
    const existing = this.#open.get(uri);
    if (existing) {
      existing.owners.add(owner);
      await existing.watch;
      return;
    }
    const watch = this.#watch(uri);
    this.#open.set(uri, { watch, owners: new Set([owner]) });
    try {
      await watch;
    } catch (error) {
      this.#open.delete(uri);
      throw error;
    }
  }

  remove(uri: string, owner: string | number = ''): void {
    const existing = this.#open.get(uri);
    if (!existing?.owners.delete(owner) || existing.owners.size > 0) return;
    this.#open.delete(uri);
    existing.watch.then(
      (end) => end(),
      () => {}, // the subscriber got the error
    );
  }

  removeOwner(owner: string | number): void {
    for (const uri of [...this.#open.keys()]) this.remove(uri, owner);
  }

  clear(): void {
    for (const [uri, { owners }] of [...this.#open]) for (const owner of [...owners]) this.remove(uri, owner);
  }
}
