// Removes secrets from text that providers and other services wrote, before people or programs read it.

const REDACTED = '[redacted]';
/** Shorter values without a digit are ordinary words: "Bearer authentication", "token: expired". */
const LONG_ENOUGH = 20;
const SHORTEST_JWT_HEADER = 11;

type Rule = readonly [pattern: RegExp, replace: (...groups: string[]) => string];

/** Every pattern takes linear time, since the text may be long and hostile. */
const rules: readonly Rule[] = [
  // private keys; what follows the header may have its line breaks escaped
  [
    /(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)(?:[A-Za-z0-9+/=\s]|\\[nr])+/g,
    (_found, header = '') => header + REDACTED,
  ],
  // https://user:password@host, also where the password contains an @
  [/(:\/\/)[^\s/?#"']{1,512}@/g, (_found, scheme = '') => `${scheme}${REDACTED}@`],
  // keys that show by their prefix whose they are, also half masked: sk-abc***xyz
  [
    /\b(?:(?:sk|rk|pk|gsk|xai|pplx|hf|r8|gh[oprsu]|github_pat|glpat|xox[abeprs])[-_]|AIza|AKIA|ASIA|ya29\.)[\w*-]{3,}/g,
    (found) => (/\*|^sk-.{6}/.test(found) || isLikelySecret(found) ? REDACTED : found),
  ],
  // JSON Web Tokens; whole dotted names are matched, so that no character is the start of two attempts
  [
    /(?<![\w.-])[\w-]+(?:\.[\w-]*)+/g,
    (found) => {
      const start = found.search(/\beyJ/);
      return start >= 0 && found.indexOf('.', start + SHORTEST_JWT_HEADER) > 0
        ? found.slice(0, start) + REDACTED
        : found;
    },
  ],
  // organisations and projects of an account
  [/\b(?:org|proj)[-_][A-Za-z0-9]{6,}/g, (found) => (/\d/.test(found) || found.length > 15 ? REDACTED : found)],
  [
    /(\borgani[sz]ation\b[^\n]{0,20}?\b)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi,
    (_found, before = '') => before + REDACTED,
  ],
  // Authorization: Bearer …
  [
    /\b((?:bearer|basic) +)([\w.~+/=*-]{6,})/gi,
    (found, scheme = '', value = '') => (isLikelySecret(value) || /[a-z][A-Z]/.test(value) ? scheme + REDACTED : found),
  ],
  // api_key=…, "token": "…", API key provided: …
  [
    /((?:(?:api|access|account|subscription|private|signing|secret)[-_ ]?key|[?&](?:key|sig)|token|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization|cookie|signature)(?: provided)?\\?["']?)( {0,4}[:=] {0,4})(\\?["']?)([^\s"'\\&,;(){}[\]]{3,})/gi,
    (found, name = '', separator = '', quote = '', value = '') =>
      separator === '=' || isLikelySecret(value) ? name + separator + quote + REDACTED : found,
  ],
];

/** The text without keys, tokens, passwords, organisation ids and the credentials in URLs. */
export function redactSecrets(text: string): string {
  return rules.reduce((left, [pattern, replace]) => left.replace(pattern, replace), text);
}

/** Of the text of an error, which may be a whole body. */
const LONGEST_ERROR_TEXT = 100_000;
/** Longer than any secret, so that none is cut in half before it is found. */
const MARGIN = 10_000;

/** The text of an error without secrets; the rest of a very long one is left out. */
export function redactErrorText(text: string): string {
  if (text.length <= LONGEST_ERROR_TEXT) return redactSecrets(text);
  return `${redactSecrets(text.slice(0, LONGEST_ERROR_TEXT + MARGIN)).slice(0, LONGEST_ERROR_TEXT)}… (cut)`;
}

/** Of the fields of an error that are looked at for secrets. */
const DEEPEST_FIELD = 5;

/**
 * Redacts secrets in an error of a provider or a tool: programs print whole errors, with their causes and fields. The program may
 * still use the objects that it refers to: plain ones are replaced by redacted copies, others stay as they are.
 */
export function redactError(error: unknown): void {
  if (error instanceof Error) redacted(error, 0, new Map());
}

function redacted(value: unknown, depth: number, done: Map<object, unknown>): unknown {
  if (typeof value === 'string') return redactErrorText(value);
  if (typeof value !== 'object' || value === null || depth > DEEPEST_FIELD) return value;
  if (done.has(value)) return done.get(value);
  const target = value instanceof Error ? value : emptyCopy(value);
  done.set(value, target ?? value);
  if (!target) return value;
  for (const key of Reflect.ownKeys(value)) {
    if (key !== 'stack' && Reflect.getOwnPropertyDescriptor(value, key)?.get) continue; // foreign code, which may throw
    const field: unknown = Reflect.get(value, key);
    // the conversation is the program's own
    const shown = key === 'requestBodyValues' ? field : redacted(field, depth + 1, done);
    if (target !== value || shown !== field) Reflect.set(target, key, shown);
  }
  return target;
}

function emptyCopy(value: object): object | undefined {
  if (Array.isArray(value)) return [];
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? Object.create(prototype) : undefined;
}

function isLikelySecret(value: string): boolean {
  return /\d/.test(value) || value.length >= LONG_ENOUGH;
}
