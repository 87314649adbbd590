// Selects the checks that apply to a server without the suite's fixtures.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Check {
  id: string;
  status: string;
  errorMessage?: string;
}

export interface Verdict {
  scenarios: number;
  passed: number;
  failures: string[];
}

/** Scenarios that use fixtures or an extension. Only their schema check counts. */
const SCENARIOS_WITH_FIXTURES =
  /^(tools-call|prompts|completion|logging|elicitation|resources-(read|templates|subscribe|unsubscribe)|json-schema|http-custom-header|input-required-result|tasks)/;
/** Checks in other scenarios that need a fixture: a tool test_…, or prompts. */
const CHECKS_WITH_FIXTURES = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
  'sep-2549-prompts-list-caching-hints',
];
/** Checks that every message follows the schema of the revision. */
const SCHEMA_CHECK = 'wire-schema-valid';

/** Reads the results that the suite wrote to `folder`. */
export async function judgeWithoutFixtures(folder: string): Promise<Verdict> {
  const verdict: Verdict = { scenarios: 0, passed: 0, failures: [] };
  for (const name of await readdir(folder)) {
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    const usesFixtures = SCENARIOS_WITH_FIXTURES.test(scenario);
    const checks: Check[] = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8'));
    const counted = checks.filter(({ id }) =>
      usesFixtures ? id === SCHEMA_CHECK : !CHECKS_WITH_FIXTURES.includes(id),
    );
    if (!usesFixtures) verdict.scenarios++;
    verdict.passed += counted.filter(({ status }) => status === 'SUCCESS').length;
    for (const { id, status, errorMessage } of counted) {
      if (status === 'FAILURE') verdict.failures.push(`${scenario}: ${id}: ${errorMessage ?? 'failed'}`);
    }
  }
  return verdict;
}
