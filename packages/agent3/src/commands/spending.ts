// `agent3 limits`: what you agree to spend. `agent3 statement`: what you paid in a month.
import type { Allowance, Statement } from '../base/account.ts';
import { allowance, statementRequest } from '../base/account.ts';
import { checkInput } from '../base/check-input.ts';
import { cleanText } from '../base/clean-text.ts';
import { dollarsText } from '../base/price-text.ts';
import { countText } from '../pages/figures.ts';
import { numberOf, readArguments } from './arguments.ts';
import { withAgent3 } from './with-agent3.ts';

const names = { perCall: '--per-call', perDay: '--per-day', perMonth: '--per-month' } as const;

export async function limits(args: readonly string[]): Promise<number> {
  const option = { type: 'string' } as const;
  const { values } = readArguments({
    args: [...args],
    options: { 'per-call': option, 'per-day': option, 'per-month': option, json: { type: 'boolean', default: false } },
  });
  const given = { perCall: values['per-call'], perDay: values['per-day'], perMonth: values['per-month'] };
  const isChange = Object.values(given).some((text) => text !== undefined);
  return withAgent3(async (agent3, caller) => {
    if (isChange) {
      const { limits: before } = await agent3.account(caller);
      const next = Object.entries(given).flatMap(([name, text]) => {
        const key = name as keyof Allowance;
        const value = text === undefined ? before[key] : text === 'none' ? undefined : numberOf(names[key], text);
        return value === undefined ? [] : [[key, value]];
      });
      await agent3.setLimits(checkInput(allowance, Object.fromEntries(next), names), caller);
    }
    const { limits: agreed, spent } = await agent3.account(caller);
    const text = (limit: number | undefined) => (limit === undefined ? 'no limit' : dollarsText(limit));
    if (values.json) process.stdout.write(`${JSON.stringify({ limits: agreed, spent })}\n`);
    else
      process.stdout.write(
        `per call   ${text(agreed.perCall)}\nper day    ${text(agreed.perDay)}, ${dollarsText(spent.today)} used\n` +
          `per month  ${text(agreed.perMonth)}, ${dollarsText(spent.thisMonth)} used\n`,
      );
    return 0;
  });
}

export async function statement(args: readonly string[]): Promise<number> {
  const { values } = readArguments({
    args: [...args],
    options: { month: { type: 'string' }, json: { type: 'boolean', default: false } },
  });
  const query = checkInput(statementRequest, { month: values.month }, { month: '--month' });
  return withAgent3(async (agent3, caller) => {
    const found = await agent3.statement(query, caller);
    process.stdout.write(values.json ? `${JSON.stringify(found)}\n` : linesOf(found));
    return 0;
  });
}

function linesOf({ owner, month, calls, cost, agents }: Statement): string {
  const rows = agents.map(
    (row) => `${dollarsText(row.cost)}  ${countText(row.calls)} calls  ${row.name} (${row.agentId})\n`,
  );
  return cleanText(`${month}, ${owner}: ${dollarsText(cost)} for ${countText(calls)} paid calls\n${rows.join('')}`);
}
