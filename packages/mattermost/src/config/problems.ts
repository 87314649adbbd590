// Collects the problems of a configuration, so that all of them are reported together.
import { MattermostError } from '../base/errors.ts';

export class ConfigProblems {
  readonly #messages: string[] = [];
  readonly #labels: Readonly<Record<string, string>>;

  /** `labels` maps variables to the command-line options that set them. */
  constructor(labels: Readonly<Record<string, string>> = {}) {
    this.#labels = labels;
  }

  add(name: string, problem: string): void {
    const separator = problem.startsWith('is missing') ? ' ' : ': ';
    this.#messages.push(`${this.#labels[name] ?? name}${separator}${problem}.`);
  }

  throwIfAny(): void {
    if (this.#messages.length === 0) return;
    const list = this.#messages.map((message) => `\n- ${message}`).join('');
    throw new MattermostError('CONFIG_INVALID', `The configuration is invalid:${list}`);
  }
}
