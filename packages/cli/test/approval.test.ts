import { type ApprovalRequest, tool } from 'pocket-agent';
import { describe, expect, test } from 'vitest';
import { expectValidHistory, resultText, scriptedAgent } from '../../pocket-agent/test/helpers.ts';
import { Person } from '../../pocket-agent/test/person.ts';
import { TerminalApproval } from '../src/questions/terminal-approval.ts';

const QUESTION = 'e(dit)? ';
const LINE = 'as JSON: ';

class Approver extends Person {
  readonly approval = new TerminalApproval(this.questions);

  async answers(...words: string[]): Promise<void> {
    for (const word of words) await this.types(QUESTION, word);
  }

  get asked(): number {
    return this.seen.split('wants to call').length - 1;
  }
}

/** An agent that calls `erase` once for each of the arguments, and a person to ask. */
function erasing(...calls: Record<string, unknown>[]) {
  const person = new Approver();
  const ran: unknown[] = [];
  const erase = tool({
    name: 'erase',
    description: 'Erases a record\n\u001b[2Jfor good.',
    meta: { capability: 'delete' },
    run: (args) => `erased ${ran.push(args)}`,
  });
  const { agent } = scriptedAgent(
    [
      { toolCalls: calls.map((args) => ({ name: 'erase', arguments: args })) },
      { toolCalls: [{ name: 'erase' }] },
      'ok',
    ],
    { tools: [erase], access: { confirm: 'destructive' }, approve: person.approval.approve },
  );
  return { person, ran, agent };
}

describe('an approval question at the terminal', () => {
  test('shows the agent, the tool, its description and every argument', async () => {
    const { person, ran, agent } = erasing({ id: 7, note: 'two\nlines', 'odd key': [1, { a: null }] });
    const run = agent.run('x');
    await person.answers('y', 'yes');
    await run;
    expect(person.seen).toContain('Tester wants to call erase, which can delete.');
    expect(person.seen).toMatch(/description: Erases a record .*for good\./);
    expect(person.seen).toContain('    id: 7\n    note: "two\\nlines"\n    "odd key": [1,{"a":null}]\n');
    expect(person.seen).toContain('arguments: none');
    expect(ran).toHaveLength(2);
  });

  test('contains no control characters of a server or a model', async () => {
    const hidden = '\u001b[1A\u009b2K\u202egpj\u200b\u2028';
    const { person, agent } = erasing({ path: hidden, [hidden]: 1 });
    const run = agent.run('x');
    await person.answers('n', 'n');
    await run;
    expect(person.seen.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(person.seen).toContain('path: "\\u001b[1A\\u009b2K\\u202egpj\\u200b\\u2028"');
  });

  test('truncates long arguments and says how much is left out', async () => {
    const many = Object.fromEntries([...Array(25).keys()].map((key) => [`key${key}`, 'x'.repeat(1_000)]));
    const { person, agent } = erasing(many);
    const run = agent.run('x');
    await person.answers('n', 'n');
    await run;
    expect(person.seen).toContain('(702 more characters)');
    expect(person.seen).toContain('(5 more; choose edit to see all)');
    expect(person.seen.length).toBeLessThan(10_000);
  });

  test('warns when the definition of the tool has changed', async () => {
    const person = new Approver();
    const asked = person.approval.approve(request({ changed: true }));
    await person.answers('y');
    expect(await asked).toBe('allow');
    expect(person.seen).toContain('! Its definition has changed');
  });

  test('an empty line or another word repeats the question and says what to type', async () => {
    const { person, ran, agent } = erasing({ id: 1 });
    const run = agent.run('x');
    await person.answers('', 'sure', 'y', 'y');
    await run;
    expect(person.seen.match(/Type y, n, a or e, and press Enter/g)).toHaveLength(2);
    expect(ran).toHaveLength(2);
  });

  test('"no" is reported to the model, and the next call is asked about again', async () => {
    const { person, ran, agent } = erasing({ id: 1 });
    const run = agent.run('x');
    await person.answers('n', 'no');
    await run;
    expect(resultText(agent)).toContain('the user said no at the terminal');
    expect(person.asked).toBe(2);
    expect(ran).toEqual([]);
  });

  test('"always" covers waiting and later calls', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 }, { id: 3 });
    const run = agent.run('x');
    await person.answers('a');
    await run;
    expect(person.asked).toBe(1);
    expect(ran).toHaveLength(4);
  });

  test('"always" does not cover a tool whose definition has changed', async () => {
    const person = new Approver();
    const first = person.approval.approve(request({}));
    await person.answers('always');
    expect(await first).toEqual({ allow: true, remember: 'conversation' });
    const second = person.approval.approve(request({ changed: true }));
    await person.answers('y');
    expect(await second).toBe('allow');
    const third = person.approval.approve(request({}));
    await person.answers('n');
    expect(await third).toHaveProperty('deny');
    expect(person.asked).toBe(3);
  });

  test('edit calls the tool with the typed arguments; anything but a JSON object repeats the question', async () => {
    const { person, ran, agent } = erasing({ id: 1 });
    const run = agent.run('x');
    for (const typed of ['{ id', '[1]', '', '{"id": 2}']) {
      await person.answers('e');
      await person.reads(LINE);
      person.input.write(`${typed}\n`);
    }
    await person.answers('n');
    await run;
    expect(ran).toEqual([{ id: 2 }]);
    expect(person.seen).toMatch(/That is not JSON: .*Arguments must be a JSON object\./s);
    expect(resultText(agent)).toContain('changed the arguments of this call to {"id":2}');
  });

  test('other words and empty lines repeat the question', async () => {
    const { person, ran, agent } = erasing({ id: 1 });
    const run = agent.run('x');
    await person.answers('', 'yeah', 'n', 'n');
    await run;
    expect(ran).toEqual([]);
  });

  test('several calls are asked about one after the other', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    const run = agent.run('x');
    await person.reads('id: 1');
    await person.reads(QUESTION);
    expect(person.asked).toBe(1);
    person.input.write('n\n');
    await person.reads('id: 2');
    await person.answers('y', 'n');
    await run;
    expect(ran).toEqual([{ id: 2 }]);
  });

  test('input typed before the question is discarded', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    person.input.write('y\n');
    const run = agent.run('x');
    await person.reads(QUESTION);
    person.input.write('n\ny\n');
    await person.answers('n', 'n');
    await run;
    expect(ran).toEqual([]);
  });

  test('forget() takes back "always"', async () => {
    const person = new Approver();
    const first = person.approval.approve(request({}));
    await person.answers('a');
    await first;
    expect(await person.approval.approve(request({}))).toEqual({ allow: true, remember: 'conversation' });
    person.approval.forget();
    const second = person.approval.approve(request({}));
    await person.answers('n');
    expect(await second).toHaveProperty('deny');
  });

  test('the end of input denies this call and all that follow', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    const run = agent.run('x');
    await person.reads(QUESTION);
    person.input.end();
    await run;
    expect(person.asked).toBe(1);
    expect(resultText(agent, 1)).toContain('the user did not answer at the terminal');
    expect(ran).toEqual([]);
  });

  test('an abort closes the question, later questions are not asked, and the history stays valid', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    const controller = new AbortController();
    const run = agent.run('x', { signal: controller.signal });
    await person.reads(QUESTION);
    controller.abort();
    await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
    expectValidHistory(agent);
    expect(person.input.listenerCount('data')).toBe(0);
    expect(person.asked).toBe(1);
    expect(ran).toEqual([]);
  });
});

function request(changes: Partial<ApprovalRequest>): ApprovalRequest {
  const { signal } = new AbortController();
  const call = { tool: 'erase', capability: 'delete', arguments: {}, toolCallId: '1', path: ['Pocket'] } as const;
  return { ...call, description: undefined, annotations: undefined, hash: '', changed: false, signal, ...changes };
}

test('in a terminal the question has no prompt mark', async () => {
  const person = new Approver();
  Object.assign(person.input, { isTTY: true, setRawMode: () => person.input });
  const asked = person.approval.approve({
    tool: 'erase',
    capability: 'delete',
    description: undefined,
    annotations: undefined,
    toolCallId: 'c1',
    hash: '',
    path: ['A'],
    arguments: {},
    changed: false,
    signal: new AbortController().signal,
  });
  await person.reads(QUESTION);
  person.input.write('y\r');
  expect(await asked).toBe('allow');
  expect(person.seen).not.toContain('> ');
});
