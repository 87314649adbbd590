// All resources that are watched over one connection of the 2026 era share a stream.
import type { Client } from '@modelcontextprotocol/client';

type Stream = Awaited<ReturnType<Client['listen']>>;

export class WatchStream {
  readonly #sdk: Client;
  readonly #onLost: () => void;
  readonly #uris = new Set<string>();
  #stream: Stream | undefined;
  /** The last change of the stream; it never rejects. */
  #changed: Promise<void> = Promise.resolve();
  /** The change that waits for it. */
  #next: Promise<void> | undefined;

  constructor(sdk: Client, onLost: () => void) {
    this.#sdk = sdk;
    this.#onLost = onLost;
  }

  /** Returns a function that ends the watch. */
  async add(uri: string): Promise<() => Promise<void>> {
    this.#uris.add(uri);
    const remove = () => {
      this.#uris.delete(uri);
      return this.#renew();
    };
    try {
      await this.#renew();
      return remove;
    } catch (error) {
      this.#uris.delete(uri);
      throw error;
    }
  }

  /** Resources that come or go while the stream changes wait together for the next one. */
  #renew(): Promise<void> {
    this.#next ??= this.#changed.then(() => {
      this.#next = undefined;
      const opened = this.#open();
      this.#changed = opened.catch(() => {}); // `add` reports it
      return opened;
    });
    return this.#next;
  }

  /** The new stream is open before the old one closes, so that no change is missed. */
  async #open(): Promise<void> {
    const before = this.#stream;
    const uris = [...this.#uris];
    const stream = uris.length > 0 ? await this.#sdk.listen({ resourceSubscriptions: uris }) : undefined;
    this.#stream = stream;
    void stream?.closed.then(() => {
      if (this.#stream === stream) this.#onLost();
    });
    await before?.close();
  }
}
