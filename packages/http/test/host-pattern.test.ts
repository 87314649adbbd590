import { isHost } from '@pocket-agent/http/fetch';
import { expect, test } from 'vitest';

test.each([
  ['name', 'https://name/', true],
  ['NAME', 'https://name:8443/', true],
  ['name', 'https://name./', true],
  ['name:443', 'https://name/', true],
  ['name:443', 'https://name:443/', true],
  ['name:443', 'http://name/', false],
  ['name:80', 'http://name/', true],
  ['name:8443', 'https://name:8443/', true],
  ['name:8443', 'https://name/', false],
  ['*.name', 'https://a.b.name/', true],
  ['*.name', 'https://name/', false],
  ['*.name', 'https://othername/', false],
  ['name', 'https://a.name/', false],
  ['::1', 'http://[::1]:99/', true],
  ['[::1]', 'http://[::1]/', true],
  ['[::1]:80', 'http://[::1]/', true],
  ['127.0.0.1', 'http://127.0.0.1:5/', true],
])('%s names the host of %s: %s', (pattern, url, expected) => {
  expect(isHost(pattern, new URL(url))).toBe(expected);
});
