// Selects the checks that apply to a server with its own tools: those that do not need the fixtures of the suite.
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

/** Scenarios about the fixtures of the suite, or about an extension. Only their message checks count. */
const ABOUT_FIXTURES =
  /^(tools-call|prompts|completion|logging|elicitation|resources-(read|templates|subscribe|unsubscribe)|json-schema|http-custom-header|input-required-result|tasks)/;
/** Checks of the other scenarios that need a fixture: a tool test_…, or prompts. */
const ASKING_FOR_ONE = [
  'sep-2575-server-rejects-undeclared-capability',
  'sep-2575-missing-capability-http-400',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-server-no-log-without-loglevel',
  'sep-2549-prompts-list-caching-hints',
];
/** Every message on the wire follows the schema of the revision. */
const MESSAGES = 'wire-schema-valid';

/** Reads the results that the suite wrote to `folder`. */
export async function judgeWithoutFixtures(folder: string): Promise<Verdict> {
  const verdict: Verdict = { scenarios: 0, passed: 0, failures: [] };
  for (const name of await readdir(folder)) {
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    const isAboutFixtures = ABOUT_FIXTURES.test(scenario);
    const checks: Check[] = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8'));
    const counting = checks.filter(({ id }) => (isAboutFixtures ? id === MESSAGES : !ASKING_FOR_ONE.includes(id)));
    if (!isAboutFixtures) verdict.scenarios++;
    verdict.passed += counting.filter(({ status }) => status === 'SUCCESS').length;
    for (const { id, status, errorMessage } of counting) {
      if (status === 'FAILURE') verdict.failures.push(`${scenario}: ${id}: ${errorMessage ?? 'failed'}`);
    }
  }
  return verdict;
}
