import { stderrLogger } from 'pocket-agent';
import { expect, test, vi } from 'vitest';

test('a line of the log shows no control characters, and cannot pass for several lines', () => {
  const written: string[] = [];
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  stderrLogger('warn').warn('tool \u001b]52;c;aGk=\u0007\n[pocket-agent] error: forged', { name: '\u001b[2J\u202e' });
  write.mockRestore();
  expect(written).toHaveLength(1);
  expect(written[0]).toMatch(/^\[pocket-agent\] warn: tool [^\n]*\n {2}\[pocket-agent\] error: forged .*\n$/);
  expect(written[0]?.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(written[0]).toContain('\\u001b[2J\\u202e');
});
