// Keeps what the page knows, and draws it at most once per frame.
import type { Line } from '../../src/wire/wire.ts';
import type { ConnectionState } from '../stream.ts';
import { emptyState, type State } from './model.ts';
import { reduce } from './reduce.ts';

export interface Known extends State {
  connection: ConnectionState;
}

export class Store {
  #known: Known = { ...emptyState, connection: 'connecting' };
  readonly #listeners = new Set<() => void>();
  #isWaiting = false;

  get known(): Known {
    return this.#known;
  }

  add(lines: readonly Line[]): void {
    const state: State = lines.reduce(reduce, this.#known);
    this.#change({ ...state, connection: this.#known.connection });
  }

  setConnection(connection: ConnectionState): void {
    this.#change({ ...this.#known, connection });
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #change(known: Known): void {
    this.#known = known;
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    requestAnimationFrame(() => {
      this.#isWaiting = false;
      for (const listener of this.#listeners) listener();
    });
  }
}
