// What one run of each agent may use up, beside the run that has used most.
import type { VNode } from 'preact';
import { dollars } from '../parts/format.ts';
import { useKnown } from '../parts/hooks.ts';
import { Wide } from '../parts/wide.tsx';
import { largestRun } from '../state/totals.ts';

const count = (value: number) => value.toLocaleString('en');

export function Budgets(): VNode {
  const { agents, runs, chats } = useKnown();
  const limited = agents.filter(({ budget }) => Object.values(budget).some((limit) => limit !== undefined));
  return (
    <>
      <h2>Budgets of a run</h2>
      {limited.length === 0 && (
        <p class="empty">
          <span>
            No agent has a budget. Set <code>limits.maxCostUsd</code>, <code>maxTokens</code> or{' '}
            <code>maxToolCalls</code>.
          </span>
        </p>
      )}
      {limited.length > 0 && (
        <Wide label="Budgets of a run">
          <table>
            <thead>
              <tr>
                <th>Agent</th>
                <th>Tokens</th>
                <th>Cost</th>
                <th>Tool calls</th>
              </tr>
            </thead>
            <tbody>
              {limited.map(({ name, budget: { maxTokens, maxCostUsd, maxToolCalls } }) => {
                const most = largestRun({ runs, chats }, name);
                return (
                  <tr key={name}>
                    <td>{name}</td>
                    <Used used={most.tokens} limit={maxTokens} text={count} />
                    <Used used={most.costUsd} limit={maxCostUsd} text={dollars} />
                    <Used used={most.toolCalls} limit={maxToolCalls} text={count} />
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Wide>
      )}
    </>
  );
}

interface UsedProps {
  used: number;
  limit: number | undefined;
  text(value: number): string;
}

/** The most that a run has used of a limit. */
function Used({ used, limit, text }: UsedProps): VNode {
  if (limit === undefined) return <td class="soft">no limit</td>;
  return (
    <td class={used >= limit ? 'bad' : ''}>
      {text(used)} of {text(limit)} <meter aria-label="Used" min={0} max={limit} value={Math.min(used, limit)} />
    </td>
  );
}
