// What ends one call early. Signals are dear where there are several for every call, so one is made only when asked for.

export class Cancellation {
  #cancelled: { reason: unknown } | undefined;
  readonly #listeners: ((reason: unknown) => void)[] = [];
  #controller: AbortController | undefined;

  /** Cancelled when the signal is aborted, which must be of this call alone: its listener is not taken away again. */
  static by(signal: AbortSignal): Cancellation {
    const cancellation = new Cancellation();
    if (signal.aborted) cancellation.cancel(signal.reason);
    else signal.addEventListener('abort', () => cancellation.cancel(signal.reason), { once: true });
    return cancellation;
  }

  get isCancelled(): boolean {
    return this.#cancelled !== undefined;
  }

  get reason(): unknown {
    return this.#cancelled?.reason;
  }

  /** For those who take nothing else. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#cancelled) this.#controller.abort(this.#cancelled.reason);
    }
    return this.#controller.signal;
  }

  cancel(reason: unknown = new DOMException('This operation was aborted', 'AbortError')): void {
    if (this.#cancelled) return;
    this.#cancelled = { reason };
    this.#controller?.abort(reason);
    for (const listener of this.#listeners.splice(0)) listener(reason);
  }

  /** At once when it is cancelled already. The listener must not throw: the others would not hear of it. */
  onCancel(listener: (reason: unknown) => void): void {
    if (this.#cancelled) listener(this.#cancelled.reason);
    else this.#listeners.push(listener);
  }
}
