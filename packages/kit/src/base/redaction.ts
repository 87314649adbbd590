// Removes secrets from texts of providers and other services before users or programs read them.

const REDACTED = '[redacted]';
/** Shorter values without a digit are taken for ordinary words: "Bearer authentication", "token: expired". */
const MIN_SECRET_LENGTH = 20;
const MIN_JWT_HEADER_LENGTH = 11;

type Rule = readonly [pattern: RegExp, replace: (...groups: string[]) => string];

/** Every pattern takes linear time, since the text may be long and hostile. */
const rules: readonly Rule[] = [
  // private keys; line breaks after the header may be escaped
  [
    /(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)(?:[A-Za-z0-9+/=\s]|\\[nr])+/g,
    (_found, header = '') => header + REDACTED,
  ],
  // https://user:password@host; the password may contain an @
  [/(:\/\/)[^\s/?#"']{1,512}@/g, (_found, scheme = '') => `${scheme}${REDACTED}@`],
  // keys with a known prefix, also partly masked ones: sk-abc***xyz
  [
    /\b(?:(?:sk|rk|pk|gsk|xai|pplx|hf|r8|gh[oprsu]|github_pat|glpat|xox[abeprs])[-_]|AIza|AKIA|ASIA|ya29\.)[\w*-]{3,}/g,
    (found) => (/\*|^sk-.{6}/.test(found) || isLikelySecret(found) ? REDACTED : found),
  ],
  // JSON Web Tokens; matching whole dotted names keeps the time linear
  [
    /(?<![\w.-])[\w-]+(?:\.[\w-]*)+/g,
    (found) => {
      const start = found.search(/\beyJ/);
      return start >= 0 && found.indexOf('.', start + MIN_JWT_HEADER_LENGTH) > 0
        ? found.slice(0, start) + REDACTED
        : found;
    },
  ],
  // organisation and project ids of an account
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

/** Replaces keys, tokens, passwords, organisation ids and credentials in URLs. */
export function redactSecrets(text: string): string {
  return rules.reduce((left, [pattern, replace]) => left.replace(pattern, replace), text);
}

/** A copy of JSON data without secrets. A string is a secret if its key is named like one. */
export function redactData(value: unknown, key = ''): unknown {
  if (typeof value === 'string') {
    const isNamedLikeSecret = redactSecrets(`${key}: ${value}`).startsWith(`${key}: ${REDACTED}`);
    return isNamedLikeSecret ? REDACTED : redactSecrets(value);
  }
  if (Array.isArray(value)) return value.map((item) => redactData(item, key));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactData(item, name)]));
}

/** An error message may contain a whole response body. */
const MAX_ERROR_LENGTH = 100_000;
/** Longer than any secret, so that no secret is cut in half before it is found. */
const MARGIN = 10_000;

/** An error message without secrets, truncated if it is very long. */
export function redactErrorText(text: string): string {
  if (text.length <= MAX_ERROR_LENGTH) return redactSecrets(text);
  return `${redactSecrets(text.slice(0, MAX_ERROR_LENGTH + MARGIN)).slice(0, MAX_ERROR_LENGTH)}… (cut)`;
}

/** How deep the fields of an error are searched for secrets. */
const MAX_DEPTH = 5;

/**
 * Redacts secrets in an error of a provider or a tool, because programs print whole errors with their causes and
 * fields. Plain objects it refers to are replaced by redacted copies; other objects stay as they are.
 */
export function redactError(error: unknown): void {
  if (error instanceof Error) redacted(error, 0, new Map());
}

function redacted(value: unknown, depth: number, done: Map<object, unknown>): unknown {
  if (typeof value === 'string') return redactErrorText(value);
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (done.has(value)) return done.get(value);
  const target = value instanceof Error ? value : emptyCopy(value);
  done.set(value, target ?? value);
  if (!target) return value;
  for (const key of Reflect.ownKeys(value)) {
    if (key !== 'stack' && Reflect.getOwnPropertyDescriptor(value, key)?.get) continue; // getters may throw
    const field: unknown = Reflect.get(value, key);
    // the request is the program's own conversation
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
  return /\d/.test(value) || value.length >= MIN_SECRET_LENGTH;
}
