// `agent3 search WORDS`: lists agents, best first.

import type { AgentSummary } from '../base/agents.ts';
import { checkInput } from '../base/check-input.ts';
import { cleanText } from '../base/clean-text.ts';
import { priceText } from '../base/price-text.ts';
import { searchRequest } from '../base/requests.ts';
import { numberOf, readArguments } from './arguments.ts';
import { withAgent3 } from './with-agent3.ts';

export async function command(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments({
    args: [...args],
    allowPositionals: true,
    options: {
      limit: { type: 'string' },
      tag: { type: 'string', multiple: true },
      json: { type: 'boolean', default: false },
    },
  });
  const { limit, tag, json } = values;
  const query = checkInput(
    searchRequest,
    {
      query: positionals.join(' '),
      limit: numberOf('--limit', limit),
      filters: { tags: tag },
    },
    { query: 'WORDS', limit: '--limit', 'filters.tags': '--tag' },
  );
  return withAgent3(async (agent3, caller) => {
    const page = await agent3.search(query, caller);
    if (json) process.stdout.write(`${JSON.stringify(page)}\n`);
    else process.stdout.write(page.agents.map(lineOf).join('') || 'Nothing found.\n');
    return 0;
  });
}

function lineOf({ id, name, description, reputation, totalReviews, price, health }: AgentSummary): string {
  const rating = reputation === undefined ? 'not rated yet' : `${reputation.toFixed(1)} of 5 (${totalReviews})`;
  return cleanText(
    `${id}  ${name}: ${description.replace(/\s+/g, ' ').slice(0, 200)}\n    ${rating}, ${health}, ${priceText(price)}\n`,
  );
}
