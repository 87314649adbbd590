// Collects all problems of a request body for one error.
import { type FieldProblems, invalidForm } from '../state/api-error.ts';

export class Form {
  readonly #problems: FieldProblems = {};

  refuse(path: string, problem: string): void {
    this.#problems[path] ??= problem;
  }

  /** A string of `min` to `max` characters; optional if `min` is 0. */
  text(path: string, value: unknown, { min = 0, max }: { min?: number; max: number }): void {
    if (value === undefined || value === null) {
      if (min > 0) this.refuse(path, 'BASE_TYPE_REQUIRED: This field is required');
    } else if (typeof value !== 'string') {
      this.refuse(path, 'STRING_TYPE_CONVERT: Could not interpret value as string.');
    } else if (value.length < min && value.length === 0) {
      this.refuse(path, 'BASE_TYPE_REQUIRED: This field is required');
    } else if (value.length > max || value.length < min) {
      this.refuse(
        path,
        min > 0
          ? `BASE_TYPE_BAD_LENGTH: Must be between ${min} and ${max} in length.`
          : `BASE_TYPE_MAX_LENGTH: Must be ${max} or fewer in length.`,
      );
    }
  }

  list(
    path: string,
    value: readonly unknown[] | null | undefined,
    { min = 0, max }: { min?: number; max: number },
  ): void {
    const length = value?.length ?? 0;
    if (length < min || length > max) {
      this.refuse(path, `BASE_TYPE_BAD_LENGTH: Must be between ${min} and ${max} in length.`);
    }
  }

  integer(path: string, value: number | undefined, { min, max }: { min: number; max: number }): void {
    if (value === undefined) return;
    if (!Number.isInteger(value)) this.refuse(path, 'NUMBER_TYPE_COERCE: Value is not int.');
    else if (value > max) this.refuse(path, `NUMBER_TYPE_MAX: int value should be less than or equal to ${max}.`);
    else if (value < min) this.refuse(path, `NUMBER_TYPE_MIN: int value should be greater than or equal to ${min}.`);
  }

  /** Throws "Invalid Form Body" if there are problems. */
  done(): void {
    if (Object.keys(this.#problems).length > 0) throw invalidForm(this.#problems);
  }
}
