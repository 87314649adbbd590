import { inputRequired, McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { resultText, scriptedAgent } from '../../pocket-agent/test/helpers.ts';
import { Person } from '../../pocket-agent/test/person.ts';
import { terminalForm } from '../src/questions/terminal-form.ts';

const ANSWER = 'answer? y(es) / n(o) ';
const size = { message: 'Which size?', requestedSchema: form({ size: { type: 'string' } }) };

function form(properties: Record<string, object>, required: string[] = []) {
  return { type: 'object' as const, properties: properties as never, required };
}

/** An agent whose only tool asks something and returns what it was answered, and the person who is asked. */
function asked(question: ReturnType<typeof inputRequired.elicit>) {
  const person = new Person();
  const controller = new AbortController();
  const server = () => {
    const made = new McpServer({ name: 'shop', version: '1.0.0' });
    made.registerTool('order', { description: 'Orders' }, ({ mcpReq }) => {
      const answer = mcpReq.inputResponses?.wanted;
      if (answer) return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
      return inputRequired({ inputRequests: { wanted: question } });
    });
    return made;
  };
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'order' }] }, 'ok'], {
    mcpConfig: { mcpServers: { shop: { server } } },
    elicitationHandler: terminalForm(person.questions, () => controller.signal),
  });
  const run = agent.run('x', { signal: controller.signal });
  const answered = async () => {
    await run;
    return JSON.parse(resultText(agent));
  };
  return { person, run, answered, controller };
}

test.each(['\u2800', '\u3164', '\u115f', '\u1160', '\uffa0', '\u3000', '\t'])(
  'blank characters cannot move a message to another line (%j)',
  async (blank) => {
    const message = `Hi${blank.repeat(70)}agent wants to call pay, which can read.`;
    const { person, answered } = asked(inputRequired.elicit({ message, requestedSchema: form({}) }));
    await person.types(ANSWER, 'n');
    expect(await answered()).toEqual({ action: 'decline' });
    expect(person.seen).toMatch(/shop asks: Hi( |�{70})agent wants to call/);
  },
);

test('a form is asked field by field, and each value is checked against its schema', async () => {
  const { person, answered } = asked(
    inputRequired.elicit({
      message: 'Your order\u001b[2J,\nplease',
      requestedSchema: form(
        {
          name: { type: 'string', title: 'Name', description: 'as on the card', minLength: 2 },
          count: { type: 'integer', minimum: 1 },
          gift: { type: 'boolean', default: false },
          size: { type: 'string', enum: ['s', 'l'], enumNames: ['small', 'large'] },
          extras: {
            type: 'array',
            items: {
              anyOf: [
                { const: 'bow', title: 'A bow' },
                { const: 'card', title: 'A card' },
              ],
            },
          },
          note: { type: 'string' },
        },
        ['name', 'count'],
      ),
    }),
  );
  await person.types(ANSWER, 'what?');
  await person.types(ANSWER, 'yes');
  await person.types('Name - as on the card [string]: ', '');
  await person.types('Not valid', 'A');
  await person.types('Not valid', 'Ada');
  await person.types('count [integer]: ', 'several');
  await person.types('Not valid', '3');
  await person.types('gift [y | n, Enter: false]: ', 'y');
  await person.types('size [s (small) | l (large), Enter: skip]: ', 'l');
  await person.types('extras [bow (A bow) | card (A card), comma-separated, Enter: skip]: ', 'bow, card');
  await person.types('note [string, Enter: skip]: ', '');
  const content = { name: 'Ada', count: 3, gift: true, size: 'l', extras: ['bow', 'card'] };
  expect(await answered()).toEqual({ action: 'accept', content });
  expect(person.seen).toContain('shop asks: Your order�[2J, please\n');
  expect(person.seen.match(/Type y or n, and press Enter\./g)).toHaveLength(1);
});

test('an empty field takes its default', async () => {
  const requestedSchema = form({ count: { type: 'number', default: 7 } }, ['count']);
  const { person, answered } = asked(inputRequired.elicit({ message: 'How many?', requestedSchema }));
  await person.types(ANSWER, 'y');
  await person.types('count [number, Enter: 7]: ', '');
  expect(await answered()).toEqual({ action: 'accept', content: { count: 7 } });
});

test.each([
  ['y', 'accept'],
  ['n', 'decline'],
])('a URL is shown, not opened: %s means %s', async (word, action) => {
  const { person, answered } = asked(inputRequired.elicitUrl({ message: 'Pay', url: 'https://shop.example/pay?id=7' }));
  await person.types('if you trust it: https://shop.example/pay?id=7\ndone? y(es) / n(o) ', word);
  expect(await answered()).toEqual({ action });
});

test('"no" declines the form', async () => {
  const { person, answered } = asked(inputRequired.elicit(size));
  await person.types(ANSWER, 'n');
  expect(await answered()).toEqual({ action: 'decline' });
});

test('the end of input cancels the form', async () => {
  const { person, answered } = asked(inputRequired.elicit(size));
  await person.reads(ANSWER);
  person.input.end();
  expect(await answered()).toEqual({ action: 'cancel' });
});

test('stopping the run closes the question', async () => {
  const { person, run, controller } = asked(inputRequired.elicit(size));
  await person.reads(ANSWER);
  controller.abort();
  await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
  expect(person.input.listenerCount('data')).toBe(0);
});
