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

describe('a question at the terminal', () => {
  test('shows who wants to call what, what that does, and every argument', async () => {
    const { person, ran, agent } = erasing({ id: 7, note: 'two\nlines', 'odd key': [1, { a: null }] });
    const run = agent.run('x');
    await person.answers('y', 'yes');
    await run;
    expect(person.seen).toContain('Tester wants to call erase, which can delete.');
    expect(person.seen).toMatch(/what it does: Erases a record .*for good\./);
    expect(person.seen).toContain('    id: 7\n    note: "two\\nlines"\n    "odd key": [1,{"a":null}]\n');
    expect(person.seen).toContain('arguments: none');
    expect(ran).toHaveLength(2);
  });

  test('contains nothing by which a server or a model could draw on the screen', async () => {
    const hidden = '\u001b[1A\u009b2K\u202egpj\u200b\u2028';
    const { person, agent } = erasing({ path: hidden, [hidden]: 1 });
    const run = agent.run('x');
    await person.answers('n', 'n');
    await run;
    expect(person.seen.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(person.seen).toContain('path: "\\u001b[1A\\u009b2K\\u202egpj\\u200b\\u2028"');
  });

  test('stays short for long arguments, and says how much is left out', async () => {
    const many = Object.fromEntries([...Array(25).keys()].map((key) => [`key${key}`, 'x'.repeat(1_000)]));
    const { person, agent } = erasing(many);
    const run = agent.run('x');
    await person.answers('n', 'n');
    await run;
    expect(person.seen).toContain('(702 more characters)');
    expect(person.seen).toContain('(5 more; edit shows all)');
    expect(person.seen.length).toBeLessThan(10_000);
  });

  test('says when the tool is no longer what it was', async () => {
    const person = new Approver();
    const asked = person.approval.approve(request({ changed: true }));
    await person.answers('y');
    expect(await asked).toBe('allow');
    expect(person.seen).toContain('! Its definition has changed');
  });

  test('a no is told to the model, and is asked for again at the next call', async () => {
    const { person, ran, agent } = erasing({ id: 1 });
    const run = agent.run('x');
    await person.answers('n', 'no');
    await run;
    expect(resultText(agent)).toContain('the person at the terminal said no');
    expect(person.asked).toBe(2);
    expect(ran).toEqual([]);
  });

  test('always holds for the calls that were waiting already, and for later ones', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 }, { id: 3 });
    const run = agent.run('x');
    await person.answers('a');
    await run;
    expect(person.asked).toBe(1);
    expect(ran).toHaveLength(4);
  });

  test('always does not hold for a tool that has changed', async () => {
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

  test('edit calls with what was typed; what is no JSON object leads back to the question', async () => {
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
    expect(resultText(agent)).toContain('changed its arguments to {"id":2}');
  });

  test('any other word, and no word, are no answer', async () => {
    const { person, ran, agent } = erasing({ id: 1 });
    const run = agent.run('x');
    await person.answers('', 'yeah', 'n', 'n');
    await run;
    expect(ran).toEqual([]);
  });

  test('several are asked one after another, each about its own call', async () => {
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

  test('what was typed before it is no answer to it', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    person.input.write('y\n');
    const run = agent.run('x');
    await person.reads(QUESTION);
    person.input.write('n\ny\n');
    await person.answers('n', 'n');
    await run;
    expect(ran).toEqual([]);
  });

  test('an always that was taken back is asked for again', async () => {
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

  test('the end of input is a no, for this and all that follow', async () => {
    const { person, ran, agent } = erasing({ id: 1 }, { id: 2 });
    const run = agent.run('x');
    await person.reads(QUESTION);
    person.input.end();
    await run;
    expect(person.asked).toBe(1);
    expect(resultText(agent, 1)).toContain('nobody answered at the terminal');
    expect(ran).toEqual([]);
  });

  test('an abort closes it, those behind it are never asked, and the history stays valid', async () => {
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

test('in a terminal the question stands alone, without the mark of a prompt', async () => {
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
