import { expect, test } from 'vitest';
import { jsonLogger } from '../../src/base/logger.ts';

test('a log line contains no control characters', () => {
  const lines: string[] = [];
  const log = jsonLogger('info', (line) => void lines.push(line));
  const reason = 'a\u001b]52;c;aGk=\u0007 b\u009b2J c\u202ed e\u2028f\u{e0041}';
  log.error('failed', { reason });
  expect(lines.join('')).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+\n$/u);
  expect(JSON.parse(lines.join(''))).toMatchObject({ reason });
});
