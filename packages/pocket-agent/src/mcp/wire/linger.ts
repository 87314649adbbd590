// Waits awake for a moment where one message comes right after the other, as answers to many calls do. Whoever writes
// to a process that sleeps has to wake it: with 32 calls in flight that was a sixth of a server's time, and the client
// saved nothing by its sleep.

/** So soon after the last one was dealt with the next has to come, to be worth waiting for. */
const MOMENT_MS = 0.05;

export class Linger {
  #isPaying = false;
  #isAwake = false;
  /** What was heard may still be at work: its promises come before the next look, and what they send. */
  #hasNews = false;
  #idleSince = Number.NEGATIVE_INFINITY;

  /** Messages came. Most come alone, and for those it does not wait: only if the last ones had been worth it. */
  heard(): void {
    this.#isPaying = this.#hasNews || performance.now() - this.#idleSince < MOMENT_MS;
    this.#hasNews = true;
    if (this.#isAwake) return;
    this.#isAwake = true;
    setImmediate(this.#look);
  }

  /** With something to do at once, the event loop asks for what has come and does not sleep. */
  readonly #look = (): void => {
    const now = performance.now();
    if (this.#hasNews) this.#idleSince = now;
    this.#hasNews = false;
    this.#isAwake = this.#isPaying && now - this.#idleSince < MOMENT_MS;
    if (this.#isAwake) setImmediate(this.#look);
  };
}
