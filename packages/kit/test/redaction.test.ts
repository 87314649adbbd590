import { PocketError, redactSecrets } from 'pocket-agent';
import { expect, test } from 'vitest';
import { expectLittleWork } from '../../pocket-agent/test/helpers.ts';

test.each([
  ['Incorrect API key provided: sk-proj-abc***wxyz. Find it at https://example.com/keys', 'sk-proj'],
  ['model down: secret sk-123', 'sk-123'],
  ['API key not valid: AIzaSyA1234567890abcdefghijklmnopqrstuvw', 'AIzaSy'],
  ["Consumer 'api_key:AIzaSyA1234567890' has been suspended", 'AIzaSy'],
  ['Rate limit reached for gpt-4 in organization org-AbC123dEf456 on tokens per min', 'org-AbC'],
  [
    'This would exceed the rate limit of your organization (0f8fad5b-d9cb-469f-a165-70867728950e)',
    '0f8fad5b-d9cb-469f-a165-70867728950e',
  ],
  ['connect to postgres://admin:hunter2@10.0.0.5/prod failed', 'hunter2'],
  ['GET https://token-only@git.example.com/x.git: 403', 'token-only'],
  ['GET https://user:p@ssword@git.example.com/x.git: 403', 'ssword'],
  ['Authorization: Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
  ['the token:  a1b2c3d4 has expired', 'a1b2c3d4'],
  ['GET https://blob.example.com/x?se=2026&sig=abcdef%3D failed', 'abcdef'],
  ['bad key "-----BEGIN RSA PRIVATE KEY-----\\nMIIEow\\nIBAAK\\n-----END RSA PRIVATE KEY-----"', 'MIIEow'],
  ['refused: Authorization: Bearer abcDEF0123456789.tok-en', 'abcDEF0123456789'],
  ['Authorization: Basic dXNlcjpwYXNzd29yZDE=', 'dXNlcjpw'],
  ['{"error":"denied","access_token":"a1b2c3d4"}', 'a1b2c3d4'],
  ['POST https://example.com/v1?api-key=topsecret&v=1 failed', 'topsecret'],
  ['invalid subscription key: 0123456789abcdef0123456789abcdef', '0123456789abcdef'],
  ['jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl expired', 'eyJhbGci'],
  ['cookie.session-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl is invalid', 'c2lnbmF0dXJl'],
  ['xoxb-2345-6789-abcdef is revoked', 'xoxb-2345'],
  ['ghp_16C7e42F292c6912E7710c838347Ae178B4a has no scope', 'ghp_16C7'],
])('a secret is taken out of %j', (text, secret) => {
  const redacted = redactSecrets(text);
  expect(redacted).not.toContain(secret);
  expect(redacted).toContain('[redacted]');
  expect(redactSecrets(redacted)).toBe(redacted);
});

test.each([
  'Unexpected token } in JSON at position 4',
  'max_tokens: 4096 is larger than 2048',
  'Bearer authentication is required',
  'WWW-Authenticate: Bearer realm="mcp"',
  'the token: expired',
  'Unknown key: model2',
  'https://example.com?to=ann@example.com',
  'connect ECONNREFUSED 10.0.0.5:5432',
  'api.example.com sent heyJude.mp3, version 1.2.3.',
  'https://example.com/org-chart?page=2 is missing, mail admin@example.com',
  'Tool "sk-learn" failed',
  'Set OPENAI_API_KEY, or pass an AI SDK model object.',
])('%j is left as it is', (text) => {
  expect(redactSecrets(text)).toBe(text);
});

test('a PocketError never carries a secret in its message', () => {
  const { message } = new PocketError('MODEL_FAILED', 'The provider refused sk-abc123def456.');
  expect(message).toBe('The provider refused [redacted].');
});

test('redaction takes linear time, whatever a service sends', () => {
  const pieces = [
    '://',
    'bearer ',
    'token ',
    'organization ',
    'sk-',
    'eyJ',
    'eyJaaaaaaaa-',
    '-----BEGIN PRIVATE KEY-----',
    '= ',
    'key"',
    ' ',
    'a',
  ];
  const texts = pieces.map((piece) => piece.repeat(100_000));
  const before = process.threadCpuUsage();
  for (const text of texts) redactSecrets(text);
  expectLittleWork(before);
});
