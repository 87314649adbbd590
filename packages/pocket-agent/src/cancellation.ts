// What ends one call early. A signal costs as much as the rest of a small call, so one is made only for who asks for it.

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

  /** At once when it is cancelled already. */
  onCancel(listener: (reason: unknown) => void): void {
    if (this.#cancelled) listener(this.#cancelled.reason);
    else this.#listeners.push(listener);
  }
}
