// The results of an evaluation in the XML format of JUnit, which CI systems read. A test suite is a variant.
import { redactSecrets } from '@pocket-agent/kit';
import type { CaseRun } from './run-case.ts';

export function junitXml(file: string, runs: readonly CaseRun[]): string {
  const suites = [...Map.groupBy(runs, ({ variant }) => variant)];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escaped(file)}" ${counts(runs)}>`,
    ...suites.flatMap(([variant, ofVariant]) => [
      `  <testsuite name="${escaped(variant)}" ${counts(ofVariant)}>`,
      ...ofVariant.flatMap(testCase),
      '  </testsuite>',
    ]),
    '</testsuites>',
    '',
  ].join('\n');
}

function counts(runs: readonly CaseRun[]): string {
  const failures = runs.filter(({ passed }) => !passed).length;
  const ms = runs.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return `tests="${runs.length}" failures="${failures}" errors="0" time="${seconds(ms)}"`;
}

function testCase({ case: name, variant, repeat, durationMs, failures, answer }: CaseRun): string[] {
  const start = `    <testcase classname="${escaped(variant)}" name="${escaped(`${name} · run ${repeat}`)}" time="${seconds(durationMs)}"`;
  if (failures.length === 0) return [`${start}/>`];
  const text = [...failures, ...(answer === undefined ? [] : ['', 'Answer:', answer])].join('\n');
  return [
    `${start}>`,
    `      <failure message="${escaped(failures[0] ?? '')}">${escaped(text)}</failure>`,
    '    </testcase>',
  ];
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** XML cannot contain most control characters and half surrogate pairs, not even escaped. */
function escaped(text: string): string {
  return redactSecrets(text)
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replace(/[\t\n\r]/g, (found) => `&#${found.charCodeAt(0)};`);
}
