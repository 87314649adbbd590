import { type Logger, warnOnce } from '@pocket-agent/kit';
import { expect, test } from 'vitest';

function recorder() {
  const warnings: string[] = [];
  const ignore = () => {};
  const logger: Logger = { debug: ignore, info: ignore, warn: (text) => void warnings.push(text), error: ignore };
  return { warnings, logger };
}

test('a warning is logged once about each subject', () => {
  const { warnings, logger } = recorder();
  const [one, other] = [{}, {}];
  for (const about of [one, one, other]) warnOnce({ logger, about, text: 'no approver' });
  warnOnce({ logger, about: one, key: 'no approver', text: 'the same key with another text' });
  warnOnce({ logger, about: one, text: 'many tools' });
  expect(warnings).toEqual(['no approver', 'no approver', 'many tools']);
});

test('a text is made only for a new warning, and undefined leaves it new', () => {
  const { warnings, logger } = recorder();
  const texts = [undefined, 'first', 'second'];
  const about = {};
  for (let count = 0; count < 3; count++) warnOnce({ logger, about, key: 'key', text: () => texts.shift() });
  expect(warnings).toEqual(['first']);
  expect(texts).toEqual(['second']);
});

test('a server that invents keys fills neither the log nor the memory', () => {
  const { warnings, logger } = recorder();
  const about = {};
  for (let count = 0; count < 1_000; count++) warnOnce({ logger, about, text: `tool ${count}` });
  expect(warnings).toHaveLength(100);
  warnOnce({ logger, about: warnings, key: `${'x'.repeat(500)}1`, text: 'long' });
  warnOnce({ logger, about: warnings, key: `${'x'.repeat(500)}2`, text: 'long' });
  expect(warnings).toHaveLength(101);
});
