// Daily budgets of users and guilds.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { type Logger, tool, type Usage } from 'pocket-agent';
import { ScriptedModel, scriptedServer } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { RunBudget } from '../../src/conversation/run-budget.ts';
import { SettingsStore } from '../../src/store/guild-settings.ts';
import { type BotDatabase, openBotStore } from '../../src/store/schema.ts';
import { Spending } from '../../src/store/spending.ts';
import { answers, lastText, quiet, startBot, temporaryFolder } from '../support/start-bot.ts';

const nothing: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  costUsd: 0,
  modelCalls: 0,
  toolCalls: 0,
};

/** The database refuses to record spending until the returned function is called. */
async function refuseSpending(db: BotDatabase): Promise<() => Promise<unknown>> {
  await sql`create trigger refuse before insert on discord_spending
    begin select raise(abort, 'the disk is full'); end`.execute(db);
  return () => sql`drop trigger refuse`.execute(db);
}

async function openBudget() {
  const { db, close } = await openBotStore({ file: ':memory:' });
  onTestFinished(close);
  const spending = new Spending(db);
  const options = { token: '', database: { file: '' }, models: [], budget: { userUsd: 1 } };
  const spender = { userId: 'ann', guildId: null };
  const runBudget = new RunBudget({ spending, options }, { spender, settings: await new SettingsStore(db).get(null) });
  return { db, spending, spender, runBudget };
}

test('daily budgets per user and per guild end answers', async () => {
  const model = answers(() => ({ text: 'ok', usage: { input: 1_000_000, output: 0 } }));
  const { discord } = await startBot({ model, prices: { script: { input: 1, output: 1 } } });
  const [admin, ann, bob] = [discord.user('admin'), discord.user('ann'), discord.user('bob')];
  await admin.command('setup budget', { channel: 'general', options: { person: 1, server: 2 } }).reply();
  const ask = async (who: typeof ann, fits: string, count: number) => {
    who.say('general', `${discord.bot.mention} hello`);
    await discord.waitFor(
      () => discord.botMessages('general').filter(({ content }) => content.includes(fits)).length === count,
    );
  };
  await ask(ann, 'ok', 1);
  await ask(ann, 'budget is used up', 1);
  await ask(bob, 'ok', 2);
  await ask(admin, 'budget is used up', 2);
  expect(model.calls).toHaveLength(2);
  const cost = await ann.command('cost', { channel: 'general' }).reply();
  expect(cost.content).toContain('$1.0000 of $1.00');
  expect(cost.content).toContain('$2.0000 of $2.00');
});

test("a guild's budget per member counts spending in the guild, the operator's counts all spending", async () => {
  const model = answers(() => ({ text: 'ok', usage: { input: 1_000_000, output: 0 } }));
  const prices = { script: { input: 1, output: 1 } };
  const { discord } = await startBot({ model, prices, budget: { userUsd: 3 } });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const setBudget = async (options: Record<string, number>) =>
    (await admin.command('setup budget', { channel: 'general', options }).reply()).content;
  await setBudget({ person: 1 });
  const ask = async (where: typeof ann.dm, fits: string, count = 1) => {
    ann.say(where, `${discord.bot.mention} hello`);
    await discord.waitFor(
      () => discord.botMessages(where).filter(({ content }) => content.includes(fits)).length === count,
    );
  };
  const general = discord.channel('general');
  await ask(ann.dm, 'ok');
  await ask(general, 'ok');
  await ask(general, 'budget is used up');
  const cost = (await ann.command('cost', { channel: 'general' }).reply()).content;
  expect(cost).toContain('**You**: $2.0000 of $3.00');
  expect(cost).toContain('**You in this server**: $1.0000 of $1.00');
  await ask(ann.dm, 'ok', 2);
  await ask(ann.dm, 'budget is used up');
  // omitted values stay
  expect(await setBudget({ server: 5 })).toContain('$5.00 for the server, $1.00 per member');
  expect(await setBudget({ person: 2 })).toContain('$5.00 for the server, $2.00 per member');
  expect(await setBudget({})).toContain('no limit for the server, no limit per member');
});

test("parallel answers see each other's spending", async () => {
  const spent = Promise.withResolvers<void>();
  const usage = { input: 1_000_000, output: 0 };
  const model = answers((options) => {
    if (options.prompt.at(-1)?.role === 'tool') return 'never said';
    return lastText(options, 'user').includes('short')
      ? { text: 'ok', usage }
      : { toolCalls: [{ name: 'a_wait' }], usage };
  });
  const wait = tool({
    name: 'wait',
    description: 'Waits until another user has spent something',
    annotations: { readOnlyHint: true },
    run: () => spent.promise.then(() => 'they have'),
  });
  const { discord } = await startBot({
    model,
    prices: { script: { input: 1, output: 1 } },
    budget: { guildUsd: 1.5 },
    mcpServers: { a: { server: await scriptedServer([wait]) } },
    world: { guilds: [{ channels: ['general', 'other'] }] },
  });
  discord.user('ann').say('general', `${discord.bot.mention} something long`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('Using `a_wait`'));
  discord.user('bob').say('other', `${discord.bot.mention} something short`);
  await discord.waitForBotMessage('other', ({ content }) => content === 'ok');
  spent.resolve();
  await discord.waitForBotMessage('general', ({ content }) => content.includes('budget is used up'));
  expect(model.calls).toHaveLength(2);
});

test('the cost of a summary counts before the answer starts', async () => {
  const model = answers(({ prompt }) => {
    const isSummary = JSON.stringify(prompt[0]).includes('Summarize the conversation');
    return { text: isSummary ? 'summary' : 'ok', usage: { input: isSummary ? 1_000_000 : 1, output: 0 } };
  });
  const models = [{ name: 'small', model, contextTokens: 500 }];
  const { discord } = await startBot({ models, prices: { script: { input: 1, output: 1 } } });
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  const setup = (what: string, options: Record<string, string | boolean | number>) =>
    admin.command(`setup ${what}`, { channel: 'general', options }).reply();
  await setup('conversations', { scope: 'channel', summaries: true });
  await setup('budget', { server: 0.5 });
  for (const answer of ['ok', 'ok', 'budget is used up']) {
    const { id } = ann.say('general', `${discord.bot.mention} ${'x'.repeat(600)}`);
    await discord.waitForBotMessage(
      'general',
      ({ content, replyTo }) => replyTo?.messageId === id && content.includes(answer),
    );
  }
  expect(model.calls).toHaveLength(3);
});

test('spending by others while files are read counts before the first model call', async () => {
  const { spending, spender, runBudget } = await openBudget();
  expect(await runBudget.limit()).toEqual({ maxCostUsd: 1 });
  await spending.add(spender, { costUsd: 1, tokens: 1, runs: 1 });
  await expect(runBudget.charge(nothing)).rejects.toThrow('budget is used up');
});

test('cost that could not be recorded is counted with the next step, and only once', async () => {
  const { db, spending, runBudget } = await openBudget();
  const used = (steps: number) => ({ ...nothing, costUsd: steps / 4, inputTokens: 10 * steps, modelCalls: steps });
  const accept = await refuseSpending(db);
  await expect(runBudget.charge(used(1))).rejects.toThrow('the disk is full');
  await accept();
  // like a run that is stopped while a step is being recorded
  await Promise.all([runBudget.charge(used(2)), runBudget.record(used(2))]);
  expect(await spending.ofUser('ann')).toEqual({ costUsd: 0.5, tokens: 20, runs: 1 });
});

test('an answer whose cost cannot be recorded still releases its tools and MCP connections', async () => {
  const [root, database] = [await temporaryFolder(), { file: join(await temporaryFolder(), 'bot.db') }];
  await mkdir(join(root, 'lamp'));
  const manifest = 'tool_human_name: Lamp\ntool_list:\n  - { name: lamp, description: Lamp, capability: read }\n';
  await writeFile(join(root, 'lamp', 'manifest.yaml'), manifest);
  const code = `export class Tools {
    constructor({ log }) { this._log = log; }
    async tool_lamp() {}
    async close() { this._log('warning', 'is closed'); }
  }`;
  await writeFile(join(root, 'lamp', 'tool.mjs'), code);
  const warnings: string[] = [];
  const logger: Logger = { ...quiet, warn: (message) => void warnings.push(message) };
  const hello = tool({ name: 'hello', description: 'Hello', run: () => 'hello' });
  const scripted = await scriptedServer([hello]);
  let closed = 0;
  const server = () => {
    const made = scripted();
    made.server.onclose = () => void closed++;
    return made;
  };
  // one more than the idle connections that are kept
  const users = Array.from({ length: 11 }, (_, index) => ({ name: `person-${index}` }));
  const { discord } = await startBot({
    world: { users },
    database,
    logger,
    toolDirectories: [root],
    mcpServers: { a: { server } },
  });
  const { db, close } = await openBotStore(database);
  onTestFinished(close);
  await refuseSpending(db);
  for (const { name } of users) {
    const person = discord.user(name);
    person.say(person.dm, 'hello');
    await discord.waitForBotMessage(person.dm, ({ content }) => content.includes('Something went wrong'));
  }
  await expect.poll(() => closed).toBe(1);
  await rm(join(root, 'lamp'), { recursive: true });
  await expect.poll(() => warnings).toContain('[lamp] is closed');
});

test('a model without a price is not used with a budget', async () => {
  const { discord } = await startBot({ model: new ScriptedModel(['ok']) });
  await discord
    .user('admin')
    .command('setup budget', { channel: 'general', options: { person: 1 } })
    .reply();
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('the price of this model is unknown'));
});
