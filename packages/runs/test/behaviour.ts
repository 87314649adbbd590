// What runs do, on any database: SQLite and PostgreSQL run the same tests.
import { type PocketAgentOptions, tool } from 'pocket-agent';
import { type ScriptedAnswer, ScriptedModel } from 'pocket-agent/testing';
import { afterEach, expect, test } from 'vitest';
import { openRuns, type Runs, type RunsOptions, type StartOptions } from '../src/index.ts';
import { agentOf, eventsOf, refunds, silent } from './agents.ts';
import { testConversations } from './conversations.ts';
import { testUpgrades } from './upgrade.ts';
import { firstQuestion, waits } from './waiting.ts';

const opened: Runs[] = [];

async function open(url: string, options: Partial<RunsOptions> = {}): Promise<Runs> {
  const runs = await openRuns({ url, logger: silent, ...options });
  opened.push(runs);
  return runs;
}

/** `newUrl` returns the URL of an empty database. */
export function testRuns(newUrl: () => Promise<string>): void {
  afterEach(async () => {
    for (const runs of opened.splice(0).reverse()) await runs.close({ graceMs: 100 }).catch(() => {});
  });

  testConversations(open, newUrl);
  testUpgrades(open, newUrl);

  test('a run is started once, however often it is asked for, and ends with its answer', async () => {
    const runs = await open(await newUrl(), { agents: { greeter: () => agentOf(['Hello']) } });
    const { id } = await runs.start('greeter', 'Hi', { id: 'hi', caller: 'ann' });
    await runs.start('greeter', 'Hi', { id: 'hi', caller: 'ann' });
    expect(await runs.result(id)).toBe('Hello');
    await runs.start('greeter', 'Hi', { id: 'hi', caller: 'ann' });
    expect((await eventsOf(runs, id)).map(({ type }) => type)).toEqual(['started', 'message', 'message', 'finished']);
    expect((await runs.list()).runs).toMatchObject([
      { id: 'hi', status: 'finished', steps: 1, totals: { usage: { modelCalls: 1 } } },
    ]);
    await expect(runs.start('greeter', 'Bye', { id: 'hi', caller: 'ann' })).rejects.toMatchObject({
      code: 'RUN_EXISTS',
    });
    await expect(runs.start('greter', 'Hi')).rejects.toThrow('Available: greeter');
  });

  test('tools find the id of the run in its metadata, such as for an idempotency key', async () => {
    const seen: unknown[] = [];
    const look = tool({
      name: 'look',
      description: 'Looks',
      annotations: { readOnlyHint: true },
      run: (_args: object, { metadata }) => void seen.push(metadata),
    });
    const agents = { a: () => agentOf([{ toolCalls: [{ name: 'look' }] }, 'Done'], { tools: [look] }) };
    const runs = await open(await newUrl(), { agents });
    await runs.result((await runs.start('a', 'Go', { id: 'first' })).id);
    expect(seen).toEqual([{ run: 'first' }]);
  });

  test('a question waits while no process runs, and newer code goes on with the answer', async () => {
    const url = await newUrl();
    const effects: unknown[] = [];
    const first = await open(url, { agents: { support: () => refunds({}, effects) } });
    await first.start('support', 'Refund order 17', { id: 'order-17', caller: 'user-42' });
    await waits(first, 'order-17');
    await first.close();

    const desk = await open(url); // a process without agents
    const question = await firstQuestion(desk);
    expect(question).toMatchObject({ run: 'order-17', agent: 'support', caller: 'user-42', kind: 'approval' });
    expect(question.call).toMatchObject({ tool: 'refund', capability: 'delete', arguments: { order: 17 } });
    expect(await desk.questions({ agent: 'other' })).toEqual([]);
    await desk.answer(question.id, 'allow', { by: 'Ann' });
    expect(effects).toEqual([]);

    const newer = () => refunds({ systemPrompt: 'Newer', name: 'Newer' }, effects);
    const second = await open(url, { agents: { support: newer } });
    expect(await desk.result('order-17')).toBe('Order 17 is refunded.');
    expect(effects).toEqual([{ order: 17 }]);
    expect(await second.get('order-17')).toMatchObject({
      steps: 2,
      totals: { usage: { modelCalls: 2, toolCalls: 1 } },
    });
    const events = await eventsOf(desk, 'order-17');
    expect(events.map(({ type }) => type).join(' ')).toBe(
      'started message message question answer intent message message finished',
    );
    expect(events[4]?.data).toEqual({ question: question.id, answer: 'allow', by: 'Ann' });
  });

  test('events are read on from any of them, in any process, also while they come', async () => {
    const url = await newUrl();
    const runs = await open(url, { agents: { support: () => refunds() } });
    await runs.start('support', 'Refund', { id: 'r' });
    const other = await open(url);
    const live = eventsOf(other, 'r', 2);
    await runs.answer((await firstQuestion(runs)).id, 'deny');
    const numbers = (await live).map(({ number }) => number);
    expect(numbers).toEqual([3, 4, 5, 6, 7, 8]);
    for (const after of [0, 4, 7, 8]) {
      const rest = await eventsOf(other, 'r', after);
      expect(rest.map(({ number }) => number)).toEqual(
        Array.from({ length: 8 - after }, (_, index) => after + index + 1),
      );
    }
    await expect(eventsOf(other, 'none')).rejects.toMatchObject({ code: 'RUN_UNKNOWN' });
  });

  test('an answer is for one question, once; others are refused', async () => {
    const runs = await open(await newUrl(), { agents: { support: () => refunds() } });
    await runs.start('support', 'Refund', { id: 'r' });
    const { id, hash } = await firstQuestion(runs);
    await expect(runs.answer(id, { allow: true, hash: 'another' })).rejects.toThrow('is for another call');
    await expect(runs.answer(id, true as never)).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
    await expect(runs.answer(id, 'later' as never)).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
    await expect(runs.answer('none', 'allow')).rejects.toMatchObject({ code: 'QUESTION_UNKNOWN' });
    await runs.answer(id, { allow: true, hash });
    await expect(runs.answer(id, 'allow')).rejects.toMatchObject({ code: 'QUESTION_CLOSED' });
    expect(await runs.result('r')).toBe('Order 17 is refunded.');
  });

  test('an approver changes the arguments, or says why not', async () => {
    const effects: unknown[] = [];
    const runs = await open(await newUrl(), { agents: { support: () => refunds({}, effects) } });
    await runs.start('support', 'Refund', { id: 'edited' });
    await runs.answer((await firstQuestion(runs)).id, { allow: { order: 18 } });
    await runs.result('edited');
    expect(effects).toEqual([{ order: 18 }]);
    await runs.start('support', 'Refund', { id: 'denied' });
    await runs.answer((await firstQuestion(runs)).id, { deny: 'it is too old' });
    await runs.result('denied');
    expect(JSON.stringify(await eventsOf(runs, 'denied'))).toContain('was not called: it is too old');
    expect(effects).toHaveLength(1);
  });

  test('a tool that has changed since is asked about again', async () => {
    const url = await newUrl();
    const first = await open(url, { agents: { support: () => refunds() } });
    await first.start('support', 'Refund', { id: 'r' });
    await waits(first, 'r');
    const old = await firstQuestion(first);
    await first.close();
    const changed = tool({ name: 'refund', description: 'Refunds everything', run: () => 'all refunded' });
    const second = await open(url);
    await second.answer(old.id, 'allow');
    const third = await open(url, { agents: { support: () => refunds({ tools: [changed] }) } });
    const question = await firstQuestion(third);
    expect(question.call?.description).toBe('Refunds everything');
    expect(question.hash).not.toBe(old.hash);
    await third.answer(question.id, 'allow');
    expect(await third.result('r')).toBe('Order 17 is refunded.');
  });

  test('several questions of one step are answered one by one; each call is made as soon as it may', async () => {
    const made: string[] = [];
    const act = tool({
      name: 'act',
      description: 'Acts',
      run: (args: object) => {
        made.push(JSON.stringify(args));
        return 'acted';
      },
    });
    const calls = [1, 2, 3].map((n) => ({ name: 'act', arguments: { n } }));
    const script = [{ toolCalls: calls }, 'Done'];
    const runs = await open(await newUrl(), {
      agents: { a: () => agentOf(script, { tools: [act], access: { confirm: 'write' } }) },
    });
    await runs.start('a', 'Go', { id: 'r' });
    await waits(runs, 'r');
    const asked = await runs.questions({ run: 'r' });
    const questions = asked.sort((a, b) => Number(a.call?.arguments.n) - Number(b.call?.arguments.n));
    expect(questions.map(({ call }) => call?.arguments)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    await runs.answer(questions[1]?.id ?? '', 'allow');
    await expect.poll(() => made).toEqual(['{"n":2}']);
    await waits(runs, 'r');
    await runs.answer(questions[2]?.id ?? '', 'deny');
    await runs.answer(questions[0]?.id ?? '', 'allow');
    expect(await runs.result('r')).toBe('Done');
    expect(made).toEqual(['{"n":2}', '{"n":1}']);
  });

  test('profile and limits hold in the next process too', async () => {
    const url = await newUrl();
    const toolCalls = [{ name: 'refund' }];
    const agents = {
      support: () =>
        refunds({ llmModel: agentOf([{ toolCalls }, { toolCalls }, 'x']).llmModel, limits: { maxToolCalls: 1 } }),
    };
    const first = await open(url, { agents });
    await first.start('support', 'Refund', { id: 'r' });
    await first.start('support', 'Refund', { id: 'reader', profile: 'reader' });
    expect(await first.result('reader')).toBe('x');
    expect(JSON.stringify(await eventsOf(first, 'reader'))).toContain('only read is allowed');
    await waits(first, 'r');
    await first.answer((await firstQuestion(first)).id, 'allow');
    await firstQuestion(first);
    await waits(first, 'r');
    await first.close();
    const second = await open(url, { agents });
    await second.answer((await firstQuestion(second)).id, 'allow');
    await expect(second.result('r')).rejects.toThrow('reached limits.maxToolCalls (1)');
    expect(await second.get('r')).toMatchObject({ status: 'failed' });
  });

  test('a run is cancelled while it waits, and while it works', async () => {
    const url = await newUrl();
    const stopped = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = tool({
      name: 'slow',
      description: 'Slow',
      run: (_args: object, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          begun.resolve();
          signal.addEventListener('abort', () => {
            stopped.resolve();
            reject(signal.reason);
          });
        }),
    });
    const agents = {
      support: () => refunds(),
      slow: () => agentOf([{ toolCalls: [{ name: 'slow' }] }, 'x'], { tools: [slow] }),
    };
    const runs = await open(url, { agents });
    await runs.start('support', 'Refund', { id: 'waits' });
    const question = await firstQuestion(runs);
    expect(await runs.cancel('waits')).toBe(true);
    await expect(runs.answer(question.id, 'allow')).rejects.toMatchObject({ code: 'QUESTION_CLOSED' });
    await expect(runs.result('waits')).rejects.toMatchObject({ code: 'RUN_CANCELLED' });
    expect(await runs.cancel('waits')).toBe(false);
    await expect(runs.cancel('none')).rejects.toMatchObject({ code: 'RUN_UNKNOWN' });

    await runs.start('slow', 'Go', { id: 'works' });
    await begun.promise;
    const other = await open(url);
    expect(await other.cancel('works')).toBe(true);
    await stopped.promise;
    expect((await eventsOf(runs, 'works')).at(-1)?.type).toBe('cancelled');
  });

  test('time counts while a run waits, and questions expire', async () => {
    const url = await newUrl();
    const runs = await open(url, { agents: { support: () => refunds() } });
    await runs.start('support', 'Refund', { id: 'late', timeoutMs: 2_000 });
    await waits(runs, 'late');
    await expect(runs.result('late')).rejects.toThrow('(TIMEOUT)');
    expect(await runs.questions()).toEqual([]);
    await runs.close();
    const brief = await open(url, { agents: { support: () => refunds() }, questionsExpireAfterMs: 1 });
    await brief.start('support', 'Refund', { id: 'expires' });
    expect(await brief.result('expires')).toBe('Order 17 is refunded.');
    expect(JSON.stringify(await eventsOf(brief, 'expires'))).toContain('it was not answered in time');
  });

  test('what an MCP server asks during a call is a question too', async () => {
    const asks = tool({ name: 'asks', description: 'Asks', run: () => 'never called' });
    const { McpServer } = await import('@modelcontextprotocol/server');
    const makeServer = () => {
      const server = new McpServer({ name: 'asker', version: '1' }, { capabilities: {} });
      server.registerTool(asks.definition.name, { description: 'Asks' }, async () => {
        const requestedSchema = { type: 'object' as const, properties: { day: { type: 'string' as const } } };
        const answer = await server.server.elicitInput({ mode: 'form', message: 'Which day?', requestedSchema });
        return { content: [{ type: 'text', text: `Booked for ${answer.content?.day}` }] };
      });
      return server;
    };
    const script = [{ toolCalls: [{ name: 'asks' }] }, 'Booked'];
    const url = await newUrl();
    const runs = await open(url, {
      agents: { a: () => agentOf(script, { mcpServers: { asker: { server: makeServer } } }) },
    });
    await runs.start('a', 'Book', { id: 'r' });
    const desk = await open(url);
    const question = await firstQuestion(desk);
    expect(question).toMatchObject({ kind: 'elicitation', server: 'asker', request: { message: 'Which day?' } });
    await expect(desk.answer(question.id, 'allow')).rejects.toThrow('must be { action, content }');
    await desk.answer(question.id, { action: 'accept', content: { day: 'Monday' } });
    expect(await runs.result('r')).toBe('Booked');
    expect(JSON.stringify(await eventsOf(runs, 'r'))).toContain('Booked for Monday');
  });

  test('runs can be closed twice', async () => {
    const runs = await open(await newUrl(), { agents: { a: () => agentOf(['Hello']) } });
    expect(await runs.result((await runs.start('a', 'Hi')).id)).toBe('Hello');
    await Promise.all([runs.close(), runs.close()]);
    await runs.close();
  });

  test('what no database can keep is refused, and nothing is started', async () => {
    const runs = await open(await newUrl(), { agents: { a: () => agentOf(['Hello']) } });
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const refused: [StartOptions, string][] = [
      [{ id: 'a\0b' }, 'id must be a string of 1 to 512 characters without NUL'],
      [{ id: '\ud800' }, 'id must be a string'],
      [{ caller: '' }, 'caller must be'],
      [{ conversation: 'a\0b' }, 'conversation must be'],
      [{ timeoutMs: 1e18 }, 'timeoutMs must be a number of milliseconds from 1 to'],
      [{ about: cyclic }, 'about cannot be saved as JSON'],
      [null as never, 'The options of start() must be an object, got null.'],
    ];
    for (const [options, message] of refused) await expect(runs.start('a', 'Hi', options)).rejects.toThrow(message);
    await expect(runs.start('a', 5 as never)).rejects.toThrow('The input must be a string, or {');
    for (const id of ['', 'a\0b', undefined as never]) {
      const calls = [runs.get(id), runs.result(id), runs.cancel(id), eventsOf(runs, id), runs.answer(id, 'allow')];
      for (const call of calls) await expect(call).rejects.toThrow('must be a string of 1 to 512 characters');
    }
    for (const number of [-1, 0.5, Number.NaN, 1e99]) {
      await expect(runs.purge(number)).rejects.toThrow('must be a whole number from 0 to');
      await expect(eventsOf(runs, 'r', number)).rejects.toThrow('must be a whole number from 0 to');
    }
    await expect(runs.list({ prefix: 'a\0b' })).rejects.toThrow('without NUL');
    expect((await runs.list()).runs).toEqual([]);
    await runs.close();
    await expect(runs.start('a', 'Hi')).rejects.toThrow('The runs were closed.');
  });

  test('an agent decides with its own approve first', async () => {
    const approve = () => 'allow' as const;
    const runs = await open(await newUrl(), { agents: { support: () => refunds({ approve }) } });
    await runs.start('support', 'Refund', { id: 'r' });
    expect(await runs.result('r')).toBe('Order 17 is refunded.');
  });

  test('runs that fail say why', async () => {
    const runs = await open(await newUrl(), {
      agents: { a: () => agentOf([{ text: 'Half', finishReason: 'length' }]) },
    });
    await runs.start('a', 'Hi', { id: 'r' });
    await expect(runs.result('r')).rejects.toMatchObject({ code: 'RUN_FAILED', cause: { code: 'ANSWER_CUT_OFF' } });
  });

  test('a process that ends lets a call finish, and the next process goes on after it', async () => {
    const url = await newUrl();
    const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let calls = 0;
    const pay = tool({
      name: 'pay',
      description: 'Pays',
      run: async () => {
        calls++;
        begun.resolve();
        await mayEnd.promise;
        return 'paid';
      },
    });
    const agents = { a: () => agentOf([{ toolCalls: [{ name: 'pay' }] }, 'Done'], { tools: [pay] }) };
    const first = await open(url, { agents });
    await first.start('a', 'Pay', { id: 'r' });
    await begun.promise;
    const closing = first.close({ graceMs: 60_000 });
    mayEnd.resolve();
    await closing;
    const desk = await open(url);
    expect(await desk.get('r')).toMatchObject({ status: 'queued' });
    expect((await desk.list({ status: 'queued' })).runs).toHaveLength(1);
    const second = await open(url, { agents });
    expect(await second.result('r')).toBe('Done');
    expect(calls).toBe(1);
    expect(JSON.stringify(await eventsOf(second, 'r'))).toContain('"value":"paid"');
  });

  test.each(['read', 'write'] as const)(
    'a call that may only %s is not made if another process cancels the run while the model answers',
    async (capability) => {
      const url = await newUrl();
      const desk = await open(url);
      let calls = 0;
      const work = tool({ name: 'work', description: 'Works', capability, run: () => `${++calls}` });
      const asked = Promise.withResolvers<void>();
      const cancelled = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      const hooks: PocketAgentOptions['hooks'] = {
        onLlmResponse: () => {
          asked.resolve();
          return cancelled.promise;
        },
        onEvent: ({ type }) => {
          if (type === 'run_failed') ended.resolve();
        },
      };
      const script = [{ toolCalls: [{ name: 'work' }] }];
      await open(url, { agents: { a: () => agentOf(script, { tools: [work], hooks }) } });
      await desk.start('a', 'Work', { id: 'r' });
      await asked.promise;
      await desk.cancel('r');
      cancelled.resolve();
      await ended.promise;
      expect(calls).toBe(0);
      expect((await eventsOf(desk, 'r')).map(({ type }) => type)).toEqual(['started', 'message', 'cancelled']);
    },
  );

  test('a process that ends between an answer and its call leaves the call to the next one', async () => {
    const url = await newUrl();
    const made: string[] = [];
    let answers = 0;
    const answer = (given: ScriptedAnswer) => () => {
      answers++;
      return given;
    };
    const agentOfProcess = (process: string, preToolCall = () => {}) => {
      const work = tool({ name: 'work', description: 'Works', run: () => `${made.push(process)}` });
      const script = process === 'first' ? [{ toolCalls: [{ name: 'work' }] }] : [{ text: 'Done' }];
      return agentOf([], { llmModel: new ScriptedModel(script.map(answer)), tools: [work], hooks: { preToolCall } });
    };
    const closed = Promise.withResolvers<void>();
    const close = () => closed.resolve(first.close({ graceMs: 60_000 }));
    const first: Runs = await open(url, { agents: { a: () => agentOfProcess('first', close) } });
    await first.start('a', 'Work', { id: 'r' });
    await closed.promise;
    const second = await open(url, { agents: { a: () => agentOfProcess('second') } });
    expect(await second.result('r')).toBe('Done');
    expect(made).toEqual(['second']);
    expect(answers).toBe(2);
  });

  test('a schedule starts a run at each of its times, once with several processes', async () => {
    const url = await newUrl();
    const agents = { a: () => agentOf(['Done']) };
    const one = await open(url, { agents });
    const two = await open(url, { agents });
    await one.schedule('tick', {
      cron: '* * * * * *',
      timeZone: 'Asia/Tokyo',
      agent: 'a',
      input: 'Go',
      caller: 'clock',
    });
    await two.schedule('tick', {
      cron: '* * * * * *',
      timeZone: 'Asia/Tokyo',
      agent: 'a',
      input: 'Go',
      caller: 'clock',
    });
    await expect.poll(async () => (await one.list({ status: 'finished' })).runs.length).toBeGreaterThan(2);
    expect(await two.schedules()).toMatchObject([{ name: 'tick', missed: 'skip', timeZone: 'Asia/Tokyo' }]);
    expect(await two.schedules({ prefix: 'ti' })).toHaveLength(1);
    expect(await two.schedules({ prefix: 'tock' })).toEqual([]);
    expect(await two.unschedule('tick')).toBe(true);
    expect(await two.unschedule('tick')).toBe(false);
    const { runs } = await one.list({ caller: 'clock' });
    for (const { id } of runs) expect(id).toMatch(/^tick@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.000Z$/);
    const daily = { cron: '30 9 * * *', timeZone: 'America/New_York', agent: 'a', input: 'Go' };
    await one.schedule('daily', daily);
    const [{ nextAt = '' } = {}] = await one.schedules();
    expect(new Date(nextAt).toLocaleTimeString('en-GB', { timeZone: 'America/New_York' })).toBe('09:30:00');
    await expect(one.schedule('bad', { ...daily, cron: 'soon' })).rejects.toThrow(
      'The schedule "soon" in America/New_York',
    );
    await expect(one.schedule('bad', { ...daily, timeZone: 'Mars' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(one.schedule('bad', { ...daily, missed: 'all' as never })).rejects.toThrow(
      'must be one of once, skip',
    );
  });

  test('runs are listed in pages, and deleted when they are over', async () => {
    const runs = await open(await newUrl(), { agents: { a: () => agentOf(['x']), support: () => refunds() } });
    for (let n = 0; n < 5; n++) await runs.result((await runs.start('a', `${n}`, { id: `r${n}` })).id);
    await runs.start('support', 'Refund', { id: 'open' });
    await waits(runs, 'open');
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await runs.list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      ids.push(...page.runs.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(ids).toEqual(['open', 'r4', 'r3', 'r2', 'r1', 'r0']);
    await runs.result((await runs.start('a', 'x', { id: '🦊 1' })).id);
    expect((await runs.list({ prefix: '🦊' })).runs.map(({ id }) => id)).toEqual(['🦊 1']);
    await expect(runs.list({ cursor: 'r4' })).rejects.toThrow('"cursor" must be `next` of an earlier page.');
    expect(await runs.purge(0)).toBe(6);
    expect((await runs.list()).runs.map(({ id }) => id)).toEqual(['open']);
  });

  test('many runs wait without anything in memory, and are listed at once', async () => {
    const runs = await open(await newUrl(), { agents: { support: () => refunds() }, maxParallelRuns: 20 });
    const count = 60;
    for (let n = 0; n < count; n++) await runs.start('support', 'Refund', { id: `r${n}`, caller: `c${n % 2}` });
    await expect.poll(async () => (await runs.list({ status: 'waiting', limit: 1_000 })).runs.length).toBe(count);
    expect(await runs.questions({ limit: 1_000 })).toHaveLength(count);
    expect(await runs.questions({ caller: 'c1', limit: 1_000 })).toHaveLength(count / 2);
  });
}
