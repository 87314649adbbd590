import { expect, test } from 'vitest';
import { createLog, logFormats } from '../../src/base/log.ts';

test.each(logFormats)('a log line (%s) contains no terminal control characters', (format) => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', format, write: (line) => void lines.push(line) });
  const reason = 'a\u001b]52;c;aGk=\u0007 b\u009b2J c\u202ed e\u2028f\u{e0041}';
  log.error('failed', { reason });
  expect(lines.join('')).toMatch(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+\n$/u);
  expect(JSON.parse(lines.join('').replace(/^[^{]*/, ''))).toMatchObject({ reason });
});
