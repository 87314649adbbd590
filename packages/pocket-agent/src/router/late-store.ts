// A store of rates that is loaded with its first use: most routers share no limits.
import type { RateStore } from './rate-window.ts';

export class LateRateStore implements RateStore {
  readonly #load: () => Promise<RateStore>;
  #store: Promise<RateStore> | undefined;

  constructor(load: () => Promise<RateStore>) {
    this.#load = load;
  }

  async reserve(...asked: Parameters<RateStore['reserve']>): Promise<Awaited<ReturnType<RateStore['reserve']>>> {
    return (await this.#loaded()).reserve(...asked);
  }

  async settle(...asked: Parameters<RateStore['settle']>): Promise<void> {
    await (await this.#loaded()).settle(...asked);
  }

  async raise(...asked: Parameters<RateStore['raise']>): Promise<void> {
    await (await this.#loaded()).raise(...asked);
  }

  async used(key: string): Promise<Awaited<ReturnType<RateStore['used']>>> {
    return (await this.#loaded()).used(key);
  }

  async close(): Promise<void> {
    await (await this.#store)?.close();
  }

  #loaded(): Promise<RateStore> {
    this.#store ??= this.#load();
    return this.#store;
  }
}
