// An answer as undici tells of it, from the first byte of its head to the last of its body.
import type { Dispatcher } from 'undici';
import { FetchError } from './fetch-error.ts';
import { Body } from './response-body.ts';

interface IncomingOptions {
  /** Of what was asked the answer is only a head. */
  isBodiless: boolean;
  /** Whether to undo a compression. */
  decodes: boolean;
  maxBytes: number | undefined;
  /** Called when nothing more will come. */
  over(): void;
}

type Head = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

export class Incoming implements Dispatcher.DispatchHandler {
  status = 0;
  statusText = '';
  headers: Head = {};
  /** Undefined where an answer has none. */
  body: Body | undefined;
  readonly #options: IncomingOptions;
  readonly #head = Promise.withResolvers<void>();
  #controller: Dispatcher.DispatchController | undefined;
  #ended: { reason: unknown } | undefined;

  constructor(options: IncomingOptions) {
    this.#options = options;
  }

  /** Resolves when status and headers are there. */
  get head(): Promise<void> {
    return this.#head.promise;
  }

  /** Names and values as they were sent. */
  get rawHeaders(): string[] {
    const raw = this.#controller?.rawHeaders;
    return Array.isArray(raw) ? raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1'))) : [];
  }

  /** Breaks it off, for whoever waits for the head or reads the body. */
  end(reason: unknown): void {
    this.#ended ??= { reason };
    this.#head.reject(reason);
    this.body?.fail(reason);
    this.#controller?.abort(BROKEN_OFF);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(BROKEN_OFF); // while it was connecting
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Head, statusText = ''): void {
    if (status < 200) return; // the answer is still to come
    this.status = status;
    this.statusText = statusText;
    this.headers = headers;
    const { isBodiless, decodes, maxBytes, over } = this.#options;
    if (!isBodiless && status !== 204 && status !== 205 && status !== 304) {
      const encoding = headers['content-encoding'];
      this.body = new Body(controller, { encoding: decodes ? String(encoding ?? '') : '', maxBytes, over });
    }
    this.#head.resolve();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.body?.add(chunk);
  }

  onResponseEnd(): void {
    if (this.body) this.body.end();
    else this.#options.over();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#head.reject(error instanceof FetchError ? error : new TypeError('fetch failed', { cause: error }));
    if (this.body) this.body.fail(new TypeError('terminated', { cause: error }));
    else this.#options.over();
  }
}

/** Whoever waits has been told why. */
const BROKEN_OFF = new Error('The exchange was broken off');
