// How the router reads errors, headers and prompts.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { PocketError } from 'pocket-agent';
import { expect, test } from 'vitest';
import { failureOf } from '../../src/model/failure.ts';
import { retryAfterMs } from '../../src/model/provider-errors.ts';
import { estimateInputTokens } from '../../src/model/token-estimate.ts';
import { durationMs, providerCounts } from '../../src/router/rate-headers.ts';
import { ask } from './calls.ts';

const http = (statusCode: number, message = 'No.') => Object.assign(new Error(message), { statusCode });
/** As vLLM and Mistral answer: the packages of providers do not read such a body. */
const flat = (responseBody: string) => Object.assign(http(400, 'Bad Request'), { responseBody });

test.each([
  ['rate-limit', http(429)],
  ['rate-limit', Object.assign(new Error('Slow down'), { type: 'rate_limit_error' })],
  ['key', http(401)],
  ['key', http(402)],
  ['key', http(403)],
  ['key', new PocketError('MODEL_KEY_MISSING', 'Set a key.')],
  ['key', Object.assign(new Error('No key'), { name: 'AI_LoadAPIKeyError' })],
  ['context-window', http(400, 'the request exceeds the available context size, try increasing it')],
  ['context-window', http(400, 'Prompt contains 40000 tokens, too large for model with 32768 maximum context length')],
  ['context-window', http(413, 'Request exceeds the maximum size')],
  ['context-window', flat('{"object":"error","message":"maximum context length is 8192 tokens"}')],
  ['context-window', flat('{"detail":"Prompt contains 40000 tokens, too large for 32768 maximum context length"}')],
  ['context-window', http(429, 'Request too large for gpt-5.1 on tokens per min (TPM): Limit 30000, Requested 40000.')],
  ['not-found', Object.assign(http(200, 'Invalid JSON response'), { responseBody: '<!doctype html><p>Hello' })],
  ['not-found', http(404)],
  ['not-found', new PocketError('MODEL_PACKAGE_MISSING', 'Install it.')],
  ['context-window', http(400, 'Your input exceeds the context window of this model.')],
  ['context-window', http(400, "This model's maximum context length is 8192 tokens.")],
  ['context-window', http(400, 'prompt is too long: 210000 tokens > 200000 maximum')],
  [
    'context-window',
    http(400, 'The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).'),
  ],
  ['context-window', http(400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.")],
  ['context-window', new Error('Your input exceeds the context window of this model.')],
  ['context-window', http(400, 'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000')],
  ['context-window', Object.assign(http(400), { data: { error: { code: 'context_length_exceeded' } } })],
  ['context-window', Object.assign(new Error('No.'), { code: 'context_length_exceeded' })],
  ['server', http(500)],
  ['server', http(529)],
  ['server', http(409)],
  ['server', http(200, 'Invalid JSON response')],
  ['server', Object.assign(new Error('Overloaded'), { type: 'overloaded_error' })],
  ['timeout', http(408)],
  ['timeout', http(504)],
  ['timeout', new PocketError('TIMEOUT', 'Too late.')],
  ['timeout', new DOMException('The operation timed out', 'TimeoutError')],
  ['timeout', new Error('Request timed out.')],
  ['timeout', new Error('The model took too long to answer.')],
  ['network', new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:1') })],
  ['network', new Error('terminated', { cause: new Error('other side closed') })],
  ['request', http(400, 'max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens')],
  ['request', http(400, 'The image took too long to download.')],
  ['request', http(400, "Invalid 'messages[0].content': string too long. Expected at most 10485760 characters.")],
  ['request', http(422)],
  ['request', new TypeError('x is not a function')],
  ['request', 'a text that was thrown'],
])('kind %s: %s', (kind, error) => {
  expect(failureOf(error).kind).toBe(kind);
});

test.each([
  [1_500, { 'retry-after-ms': '1500', 'retry-after': '9' }],
  [2_500, { 'retry-after': '2.5' }],
  [0, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }],
  [undefined, { 'retry-after': 'soon' }],
  [undefined, {}],
])('retry after %s ms: %j', (ms, headers) => {
  expect(retryAfterMs({ responseHeaders: headers })).toBe(ms);
});

test.each([
  ['1s', 1_000],
  ['6m0s', 360_000],
  ['1h2m3.5s', 3_723_500],
  ['250ms', 250],
  ['12', 12_000],
  ['2030-01-01T00:00:05Z', 5_000],
  ['2029-12-31T23:59:55Z', 0],
  ['', undefined],
  ['never', undefined],
])('a reset in "%s" is %s ms', (text, ms) => {
  expect(durationMs(text, Date.parse('2030-01-01T00:00:00Z'))).toBe(ms);
});

const limits = { requests: 100, tokens: 1_000 };

test('each kind of limit has its own reset, and the age of headers counts', () => {
  const headers = {
    'x-ratelimit-limit-requests': '100',
    'x-ratelimit-remaining-requests': '60',
    'x-ratelimit-reset-requests': '2s',
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '30s',
  };
  expect(providerCounts({ headers, limits, ageMs: 500 })).toEqual([
    { requests: 40, resetMs: 1_500 },
    { tokens: 1_000, resetMs: 29_500 },
  ]);
  expect(providerCounts({ headers, limits, ageMs: 10_000 })).toEqual([{ tokens: 1_000, resetMs: 20_000 }]);
});

test("Anthropic's reset is a date, so the age of headers does not count", () => {
  const headers = {
    'anthropic-ratelimit-requests-limit': '50',
    'anthropic-ratelimit-requests-remaining': '49',
    'anthropic-ratelimit-requests-reset': '2030-01-01T00:00:10Z',
  };
  const now = Date.parse('2030-01-01T00:00:00Z');
  expect(providerCounts({ headers, limits, ageMs: 5_000, now })).toEqual([{ requests: 51, resetMs: 10_000 }]);
});

test.each([
  { what: 'a lower limit than ours', limit: 10, remaining: 0, reset: '30s', ours: 100, used: [100] },
  { what: 'a higher limit than ours', limit: 500, remaining: 20, reset: '30s', ours: 100, used: [80] },
  { what: 'a limit by the day', limit: 14_400, remaining: 14_000, reset: '20h', ours: 30, used: [] },
  { what: 'a limit by the day, nearly used up', limit: 14_400, remaining: 4, reset: '20h', ours: 30, used: [26] },
  { what: 'a limit that is passed', limit: 10, remaining: -3, reset: '1s', ours: 100, used: [100] },
  { what: 'no limit of ours', limit: 10, remaining: 0, reset: '1s', ours: undefined, used: [] },
])('our room is what remains of $what', ({ limit, remaining, reset, ours, used }) => {
  const headers = {
    'x-ratelimit-limit-requests': String(limit),
    'x-ratelimit-remaining-requests': String(remaining),
    'x-ratelimit-reset-requests': reset,
  };
  const counts = providerCounts({ headers, limits: { requests: ours, tokens: undefined }, ageMs: 0 });
  expect(counts.map(({ requests }) => requests)).toEqual(used);
});

test.each([
  {},
  { 'x-ratelimit-remaining-requests': '0' },
  { 'x-ratelimit-limit-requests': '9', 'x-ratelimit-remaining-requests': 'x', 'x-ratelimit-reset-requests': '1s' },
  { 'x-ratelimit-limit-requests': '9', 'x-ratelimit-remaining-requests': '1' },
])('incomplete headers are ignored: %j', (headers) => {
  expect(providerCounts({ headers, limits, ageMs: 0 })).toEqual([]);
});

test('an estimate grows with the text, counts more for non-Latin scripts and a fixed number for files', () => {
  const english = estimateInputTokens(ask('word '.repeat(1_000)));
  expect(english).toBeGreaterThan(1_000);
  expect(english).toBeLessThan(2_000);
  expect(estimateInputTokens(ask('日本語'.repeat(1_000)))).toBeGreaterThan(2_000);
  const data = { type: 'data' as const, data: new Uint8Array(500_000) };
  const image = { type: 'file' as const, mediaType: 'image/png', data };
  const tokens = estimateInputTokens({ prompt: [{ role: 'user', content: [image] }] });
  expect(tokens).toBeGreaterThan(999);
  expect(tokens).toBeLessThan(1_100);
});

function toolResult(value: unknown) {
  const output = { type: 'json', value };
  const prompt = [{ role: 'tool', content: [{ type: 'tool-result', toolCallId: '1', toolName: 't', output }] }];
  return estimateInputTokens({ prompt } as unknown as LanguageModelV4CallOptions);
}

test('an estimate counts what a tool calls its data, and the text of a file', () => {
  expect(toolResult({ data: 'x'.repeat(1_000_000) })).toBeGreaterThan(250_000);
  const data = { type: 'text' as const, text: 'x'.repeat(100_000) };
  const file = { type: 'file' as const, mediaType: 'text/plain', data };
  expect(estimateInputTokens({ prompt: [{ role: 'user', content: [file] }] })).toBeGreaterThan(25_000);
});

test('an estimate never throws', () => {
  expect(toolResult({ id: 12n })).toBeLessThan(100);
  const round: Record<string, unknown> = {};
  round.round = round;
  expect(toolResult(round)).toBeGreaterThan(0);
});

test('the input tokens of Anthropic run out before its tokens in all', () => {
  const headers = {
    'anthropic-ratelimit-tokens-remaining': '90000',
    'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:30Z',
    'anthropic-ratelimit-input-tokens-remaining': '500',
    'anthropic-ratelimit-input-tokens-reset': '2026-01-01T00:00:20Z',
  };
  const now = Date.parse('2026-01-01T00:00:00Z');
  const counts = providerCounts({ headers, limits: { requests: undefined, tokens: 80_000 }, ageMs: 0, now });
  expect(counts).toEqual([{ tokens: 79_500, resetMs: 20_000 }]);
});
