import { PocketError } from 'pocket-agent';
import { expect, test } from 'vitest';
import { type RedisOptions, redisRateStore } from '../src/index.ts';

const url = 'redis://localhost';

test.each([
  ['redisRateStore takes an object: redisRateStore({ url }).', url],
  ['redisRateStore.url must be a URL that begins with redis:// or rediss://', { url: 'localhost:6379' }],
  ['such as redis://localhost:6379/0, got undefined', {}],
  ['redisRateStore.url must be a URL that begins with redis://', { url: 'localhost' }],
  ['redisRateStore.url must be a URL that begins with redis://', { url: 'https://localhost' }],
  ['redisRateStore.prefix must be a non-empty string', { url, prefix: '' }],
  ['redisRateStore has no option "namespace"', { url, namespace: 'app' }],
])('wrong options are refused: %s', (message, options) => {
  expect(() => redisRateStore(options as RedisOptions)).toThrow(message);
  expect(() => redisRateStore(options as RedisOptions)).toThrow(PocketError);
});

test('an error about the URL does not show its password', () => {
  expect(() => redisRateStore({ url: 'http://:secret@localhost' })).toThrow(/^(?!.*secret)/);
});
