// Environment variables read one by one; faults are gathered, each with the variable and the way out, never with a secret.
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { errorText } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';

interface Bounds {
  least: number;
  most: number;
  otherwise: number;
}

const LOCAL_NAMES = ['localhost', '127.0.0.1', '[::1]'];
/** What Kubernetes and Docker set for a service called mattermost is nobody's mistake. */
const OF_A_SERVICE = /^\w+(_SERVICE_(HOST|PORT)(_\w+)?=|_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?=|_PORT=(tcp|udp|sctp):)/;

export class Settings {
  readonly faults: string[] = [];
  /** The names that were asked for. */
  readonly names = new Set<string>();
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #calledAs: Readonly<Record<string, string>>;

  /** `calledAs` has the options of the command line that stand for variables, for the texts. */
  constructor(
    environment: Readonly<Record<string, string | undefined>>,
    calledAs: Readonly<Record<string, string>> = {},
  ) {
    this.#environment = environment;
    this.#calledAs = calledAs;
  }

  fault(name: string, why: string): void {
    this.faults.push(`${this.#calledAs[name] ?? name}: ${why}.`);
  }

  /** A misspelt name must not leave a default in force that allows more. */
  refuseUnknown(prefix: string, known: readonly string[]): void {
    for (const name of Object.keys(this.#environment)) {
      if (!name.startsWith(prefix) || known.includes(name)) continue;
      const value = this.text(name);
      if (value === undefined || OF_A_SERVICE.test(`${name}=${value}`)) continue;
      const meant = nearest(name, known);
      this.fault(name, `is no variable that is read${meant ? ` (did you mean ${meant}?)` : '; remove it'}`);
    }
  }

  /** An empty variable is one that is not set. */
  text(name: string): string | undefined {
    this.names.add(name);
    const value = this.#environment[name]?.trim();
    return value === '' ? undefined : value;
  }

  required(name: string, what: string): string {
    const value = this.text(name);
    if (value === undefined) this.fault(name, `is missing: ${what}`);
    return value ?? '';
  }

  secret(name: string): string | undefined {
    const value = this.text(name);
    if (value !== undefined && !/^[\x21-\x7e]+$/.test(value)) {
      this.fault(name, 'has spaces or characters that a header cannot carry; copy the token again');
    }
    return value;
  }

  oneOf<Value extends string, Otherwise extends Value | undefined>(
    name: string,
    values: readonly Value[],
    otherwise: Otherwise,
  ): Value | Otherwise {
    const given = this.text(name);
    if (given === undefined) return otherwise;
    const found = values.find((value) => value === given.toLowerCase());
    if (found === undefined) this.fault(name, `is "${given}", but must be one of ${values.join(', ')}`);
    return found ?? otherwise;
  }

  matching(name: string, pattern: RegExp, otherwise: string): string {
    const given = this.text(name) ?? otherwise;
    if (!pattern.test(given)) this.fault(name, `is "${given}", but must look like ${otherwise}`);
    return given;
  }

  boolean(name: string, otherwise: boolean): boolean {
    const given = this.text(name)?.toLowerCase();
    if (given === undefined) return otherwise;
    if (['true', '1', 'yes', 'on'].includes(given)) return true;
    if (!['false', '0', 'no', 'off'].includes(given)) this.fault(name, `is "${given}", but must be true or false`);
    return false;
  }

  number(name: string, { least, most, otherwise }: Bounds): number {
    const given = this.text(name);
    if (given === undefined) return otherwise;
    const value = Number(given);
    if (value >= least && value <= most) return value;
    this.fault(name, `is "${given}", but must be a number from ${least} to ${most}`);
    return otherwise;
  }

  integer(name: string, bounds: Bounds): number {
    const value = this.number(name, bounds);
    if (Number.isInteger(value)) return value;
    this.fault(name, `is "${value}", but must be a whole number`);
    return bounds.otherwise;
  }

  optionalInteger(name: string): number | undefined {
    if (this.text(name) === undefined) return undefined;
    return this.integer(name, { least: 1, most: Number.MAX_SAFE_INTEGER, otherwise: 1 });
  }

  list(name: string): string[] {
    const entries = this.text(name)?.split(',') ?? [];
    return entries.map((entry) => entry.trim()).filter((entry) => entry !== '');
  }

  optionalList(name: string): string[] | undefined {
    return this.text(name) === undefined ? undefined : this.list(name);
  }

  jsonList(name: string, otherwise: readonly string[]): readonly string[] {
    const given = this.text(name);
    if (given === undefined) return otherwise;
    try {
      const value: unknown = JSON.parse(given);
      if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
    } catch {
      // told below, as for JSON of another shape
    }
    this.fault(name, 'must be a JSON list of strings, such as ["http://localhost:*"]');
    return otherwise;
  }

  /** The address without a slash or the path of the API at its end. */
  url(name: string, example: string): string {
    const given = this.required(name, `the address of the Mattermost server, ${example}`);
    if (given === '') return '';
    const url = parseUrl(given);
    if (!url) this.fault(name, `is "${given}", which is no http or https address, ${example}`);
    else if (url.username !== '' || url.password !== '') this.fault(name, 'must not hold a user name or a password');
    else if (url.search !== '' || url.hash !== '')
      this.fault(name, 'must end with the path of Mattermost, without ? and #');
    return given.replace(/\/+$/, '').replace(/\/api\/v\d+$/, '');
  }

  /** An address that people open in a browser: https, except on this machine. */
  browserUrl(name: string, otherwise?: string): string {
    const given =
      otherwise === undefined ? this.required(name, 'the address browsers use') : (this.text(name) ?? otherwise);
    if (given === '') return '';
    const url = parseUrl(given);
    if (!url || (url.protocol !== 'https:' && !LOCAL_NAMES.includes(url.hostname))) {
      this.fault(name, `is "${given}", but must be an https address (http only for localhost)`);
    }
    return given.replace(/\/+$/, '');
  }

  /** Folders that exist, separated like PATH or by commas. */
  folders(name: string): string[] {
    const entries = this.text(name)?.split(new RegExp(`[,${delimiter}]`)) ?? [];
    const folders = entries.map((entry) => entry.trim()).filter((entry) => entry !== '');
    return folders.map((folder) => {
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) this.fault(name, `"${folder}" is no folder`);
      return resolve(folder);
    });
  }

  certificates(name: string): string | undefined {
    const path = this.text(name);
    if (path === undefined) return undefined;
    try {
      const text = readFileSync(path, 'utf8');
      new X509Certificate(text);
      return text;
    } catch (error) {
      this.fault(name, `"${path}" is no readable PEM file of certificates (${errorText(error)})`);
      return undefined;
    }
  }
}

function parseUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url && ['http:', 'https:'].includes(url.protocol) ? url : undefined;
}
