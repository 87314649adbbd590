// A registry with a history: agents that were called, paid for and rated over two weeks.
import { makeFetch } from '@pocket-agent/http/fetch';
import { openRegistry } from '../src/registry/registry.ts';
import { v1Card } from './registry-cards.ts';
import { callRecord } from './registry-setup.ts';

const HOUR_MS = 3_600_000;
const alice = { id: 'alice' };

export interface Seeded {
  weather: string;
  /** By one quick and cheap call. */
  calledOnce: string;
  /** Its card tries to be more than text. */
  hostile: string;
}

export async function seed(file: string): Promise<Seeded> {
  const fetch = makeFetch();
  const registry = await openRegistry({ file, fetch, healthChecks: false });
  try {
    const weather = await registry.register(
      {
        card: v1Card({ provider: { organization: 'Frogs', url: 'https://frogs.example' } }),
        price: { perCall: 0.02, currency: 'USD' },
        tags: ['demo'],
        rateLimit: { calls: 60, perSeconds: 60 },
      },
      alice,
    );
    const hostile = await registry.register({ card: hostileCard() }, alice);
    let ledgerId = '';
    for (const [name, description] of others) {
      const { id } = await registry.register({ card: v1Card({ name, description, skills: [] }) }, alice);
      if (name === 'Ledger') ledgerId = id;
    }
    const receipts: string[] = [];
    for (let hours = 1; hours < 14 * 24; hours += 2) {
      const success = hours % 11 !== 0;
      const responseTime = 300 + 200 * Math.sin(hours / 9) + (hours % 7) * 20;
      const startedAt = Date.now() - hours * HOUR_MS;
      const caller = `rater-${hours % 5}`;
      receipts.push(
        await registry.record(
          callRecord(weather.id, {
            startedAt,
            responseTime,
            success,
            cost: 0.02,
            caller,
            ...(success ? {} : { errorCode: 'TIMEOUT' }),
          }),
        ),
      );
    }
    for (const [index, rating] of [5, 4, 5, 3].entries()) {
      const receipt = receipts[index] ?? '';
      const rater = { id: `rater-${(index * 2 + 1) % 5}` };
      await registry.feedback({ agentId: weather.id, rating, feedback: words[index] ?? '', receipt }, rater);
    }
    await registry.record(callRecord(ledgerId, { responseTime: 0.4, cost: 0.00001234 }));
    return { weather: weather.id, calledOnce: ledgerId, hostile: hostile.id };
  } finally {
    await registry.close();
    fetch.close();
  }
}

const others = [
  ['Old Translator', 'Translates documents from and into forty languages'],
  ['Ledger', 'Keeps the books of small companies, and explains them'],
  ['Pizza Planner', 'Orders pizza for groups, with everybody’s wishes'],
] as const;

const words = ['Right on the day, every time.', 'Good, a little slow on Sundays.', 'Exact.', 'It rained after all.'];

function hostileCard() {
  const attack = '"><script>window.attacked = 1</script><img src=x onerror="window.attacked = 1">';
  return v1Card({
    name: `Mallory ${attack}`,
    description: attack,
    provider: { organization: attack, url: 'javascript:window.attacked=1' },
    skills: [{ id: 's', name: attack, description: attack, tags: [attack.slice(0, 40)], examples: [attack] }],
  });
}
