// The channel resources one client has subscribed to, each watched once however often it is asked for.

/** Resolves with what ends it. */
export type Watch = (uri: string) => Promise<() => void>;

export class Subscriptions {
  readonly #watch: Watch;
  /** By URI: the watch, and who asked for it. */
  readonly #open = new Map<string, { watch: Promise<() => void>; owners: Set<string | number> }>();

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  async add(uri: string, owner: string | number = ''): Promise<void> {
    const known = this.#open.get(uri);
    if (known) {
      known.owners.add(owner);
      await known.watch;
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
    const known = this.#open.get(uri);
    if (!known?.owners.delete(owner) || known.owners.size > 0) return;
    this.#open.delete(uri);
    known.watch.then(
      (end) => end(),
      () => {}, // whoever asked for it was told
    );
  }

  removeOwner(owner: string | number): void {
    for (const uri of [...this.#open.keys()]) this.remove(uri, owner);
  }

  clear(): void {
    for (const [uri, { owners }] of [...this.#open]) for (const owner of [...owners]) this.remove(uri, owner);
  }
}
