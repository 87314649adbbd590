// A request of the page that cannot be fulfilled.

export class Refusal extends Error {
  /** The HTTP status. */
  readonly status: 400 | 404 | 409;

  constructor(status: Refusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}
