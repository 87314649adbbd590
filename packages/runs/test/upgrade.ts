// What a run keeps in another process and under another version of its agent, on any database.
import { type AuditRecord, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import type { Runs, RunsOptions } from '../src/index.ts';
import { agentOf, eventsOf, refunds } from './agents.ts';
import { firstQuestion, waits } from './waiting.ts';

type Open = (url: string, options?: Partial<RunsOptions>) => Promise<Runs>;

export function testUpgrades(open: Open, newUrl: () => Promise<string>): void {
  test('caller, audit and usage go on in the next process as if nothing had happened', async () => {
    const url = await newUrl();
    const records: AuditRecord[] = [];
    const callers: unknown[] = [];
    const refund = tool({
      name: 'refund',
      description: 'Refunds an order',
      run: (_args: object, { caller }) => `refunded for ${callers.push(caller)}`,
    });
    const make = () =>
      refunds({
        tools: [refund],
        hooks: { onEvent: ({ type, data }) => void (type === 'audit' && records.push(data)) },
      });
    const first = await open(url, { agents: { support: make } });
    await first.start('support', 'Refund', { id: 'r', caller: 'user-42' });
    await waits(first, 'r');
    await first.close();
    expect([records, callers]).toEqual([[], []]);
    const second = await open(url, { agents: { support: make } });
    await second.answer((await firstQuestion(second)).id, 'allow', { by: 'Ann' });
    await second.result('r');
    expect(callers).toEqual(['user-42']);
    expect(records).toMatchObject([
      { tool: 'refund', decision: 'approved', by: 'approver', outcome: 'done', caller: 'user-42' },
    ]);
    expect(await second.get('r')).toMatchObject({ steps: 2, totals: { usage: { modelCalls: 2, toolCalls: 1 } } });
  });

  test('a run that began under one version of an agent ends under the next, with another prompt, model and tools', async () => {
    const url = await newUrl();
    const [old, kept] = ['old', 'refund'].map((name) =>
      tool({ name, description: 'Refunds an order', run: () => `by ${name}` }),
    );
    if (!old || !kept) throw new Error('two tools were expected');
    const calls = [{ name: 'old' }, { name: 'refund' }];
    const access = { confirm: 'write' as const };
    const first = await open(url, {
      agents: { a: () => agentOf([{ toolCalls: calls }], { tools: [old, kept], access, systemPrompt: 'Old' }) },
    });
    await first.start('a', 'Refund', { id: 'r' });
    await waits(first, 'r');
    const questions = await first.questions();
    await first.close();

    const extra = tool({ name: 'extra', description: 'New', run: () => 'by extra' });
    const seen: string[] = [];
    const llmModel = new ScriptedModel([
      ({ prompt, tools = [] }) => {
        seen.push(JSON.stringify(prompt), ...tools.map(({ name }) => name));
        return { toolCalls: [{ name: 'extra' }] };
      },
      'Done',
    ]);
    const second = await open(url, {
      agents: { a: () => agentOf([], { llmModel, tools: [kept, extra], access, systemPrompt: 'New' }) },
    });
    for (const { id } of questions) await second.answer(id, 'allow');
    await expect.poll(() => second.questions()).toMatchObject([{ call: { tool: 'extra' } }]);
    await waits(second, 'r');
    await second.answer((await firstQuestion(second)).id, 'allow');
    expect(await second.result('r')).toBe('Done');
    expect(seen.slice(1)).toEqual(['refund', 'extra']);
    expect(seen[0]).toContain('"New"');
    expect(seen[0]).not.toContain('"Old"');
    const text = JSON.stringify(await eventsOf(second, 'r'));
    expect(text).toContain('by refund');
    expect(text).toContain('by extra');
    expect(text).not.toContain('by old'); // the model reads that there is no such tool
  });
}
