// Long text is split into messages.
import { expect, test } from 'vitest';
import { splitMessage } from '../../src/index.ts';

const fences = (part: string) => part.split('\n').filter((line) => line.startsWith('```')).length;

test('short text becomes one message, empty text becomes zero messages', () => {
  expect(splitMessage('hello')).toEqual(['hello']);
  expect(splitMessage(' \n ')).toEqual([]);
});

test('text is split at line ends, then at spaces, then inside words', () => {
  const paragraphs = Array.from({ length: 60 }, (_, index) => `Line ${index} ${'word '.repeat(15).trim()}.`);
  const parts = splitMessage(paragraphs.join('\n'));
  expect(parts.every((part) => part.length <= 2000)).toBe(true);
  expect(parts.join('\n')).toBe(paragraphs.join('\n'));
  const words = 'abcde '.repeat(800).trim();
  expect(
    splitMessage(words)
      .map((part) => part.trim())
      .join(' '),
  ).toBe(words);
  const long = '😀'.repeat(1500);
  const pieces = splitMessage(long);
  expect(pieces.join('')).toBe(long);
  expect(pieces.every((part) => part.length <= 2000 && part.isWellFormed())).toBe(true);
});

test('a code fence that fits into one message is never split', () => {
  const code = ['```ts', ...Array.from({ length: 40 }, (_, index) => `const a${index} = ${index};`), '```'].join('\n');
  const parts = splitMessage(`${'intro '.repeat(280)}\n${code}\nthe end`);
  expect(parts).toHaveLength(2);
  expect(parts[1]).toBe(`${code}\nthe end`);
});

test('a longer code fence is closed and reopened with its language, without losing lines', () => {
  const lines = Array.from({ length: 300 }, (_, index) => `print(${index})  # ${'x'.repeat(20)}`);
  const parts = splitMessage(`Look:\n\`\`\`python title="a"\n${lines.join('\n')}\n\`\`\`\nDone.`);
  expect(parts.length).toBeGreaterThan(4);
  for (const part of parts) {
    expect(part.length).toBeLessThanOrEqual(2000);
    expect(fences(part) % 2).toBe(0);
    if (part.includes('print')) expect(part).toContain('```python\n');
  }
  const code = parts.flatMap((part) => part.split('\n').filter((line) => line.startsWith('print')));
  expect(code).toEqual(lines);
});

test('an open fence is closed temporarily, and longer fences contain shorter ones', () => {
  expect(splitMessage('```js\nlet a')).toEqual(['```js\nlet a\n```']);
  const nested = '````md\n```js\nx\n```\n````';
  expect(splitMessage(nested)).toEqual([nested]);
});

test('a fence that starts or ends inside a line is kept', () => {
  for (const text of ['Look: ```js\nx\n```\ndone', '- a ```\nx```\n- b', 'say ```one``` and ```two```']) {
    expect(splitMessage(text)).toEqual([text]);
  }
  const lines = Array.from({ length: 200 }, (_, index) => `print(${index})`);
  const parts = splitMessage(`Look: \`\`\`py\n${lines.join('\n')}\n${lines[0]}\`\`\`\nDone.`);
  for (const part of parts) expect((part.split('```').length - 1) % 2).toBe(0);
  expect(parts.at(-1)).toMatch(/```\nDone\.$/);
  expect(parts.flatMap((part) => part.split('\n').filter((line) => line.startsWith('print')))).toHaveLength(201);
});

test('splitting ends for any text', () => {
  const hostile = [
    `${'`'.repeat(1000)}\n${'x'.repeat(3000)}`,
    `\`\`\`${'y'.repeat(2500)}\n${'😀'.repeat(2000)}`,
    '`'.repeat(5001),
    `${'```\n'.repeat(1501)}`,
    `<@${'1'.repeat(4000)}>`,
  ];
  for (const text of hostile) {
    const parts = splitMessage(text);
    expect(parts.every((part) => part.length <= 2000 && part.isWellFormed())).toBe(true);
  }
  expect(splitMessage('😀😀', 1).join('')).toBe('😀😀');
});
