// The call log page: the reader's own calls, or all calls for an admin.
import { html } from 'hono/html';
import type { CallLog, CallLogEntry } from '../base/call-records.ts';
import { dollarsText } from '../base/price-text.ts';
import { countText, durationText, timeText } from './figures.ts';
import { type Html, nextLink, page } from './layout.ts';

interface CallsPageOptions {
  parameters: URLSearchParams;
  log: CallLog;
  isAdmin: boolean;
}

export function callsPage({ parameters, log, isAdmin }: CallsPageOptions): Html {
  return page({
    title: 'Calls · Agent3',
    content: html`
      <h1>Calls</h1>
      <p class="soft">${isAdmin ? 'All calls' : 'Your calls'} of the last 90 days, newest first. Messages are not stored, only their SHA-256 digests.</p>
      ${log.calls.length === 0 ? html`<p class="panel">No calls.</p>` : table(log.calls)}
      ${nextLink({ path: '/calls', parameters, cursor: log.nextCursor, text: 'Earlier calls' })}`,
  });
}

function table(calls: readonly CallLogEntry[]): Html {
  return html`<div class="panel table" tabindex="0"><table>
    <thead><tr><th scope="col">Time</th><th scope="col">Agent</th><th scope="col">Caller</th><th scope="col">Outcome</th><th scope="col">Took</th><th scope="col">Tokens</th><th scope="col">Cost</th><th scope="col">Request</th><th scope="col">Answer</th></tr></thead>
    <tbody>${calls.map(row)}</tbody>
  </table></div>`;
}

function row(entry: CallLogEntry): Html {
  const { agentId, agentName, caller, userAgentId, startedAt, success, errorCode, responseTime } = entry;
  const { tokensUsed, tokensEstimated, cost, requestDigest, responseDigest = '' } = entry;
  const tokens = tokensUsed === undefined ? '' : `${tokensEstimated ? '≈ ' : ''}${countText(tokensUsed)}`;
  const digest = (text: string) => html`<td title="${text}"><code>${text.slice(0, 8)}</code></td>`;
  return html`<tr>
    <td>${timeText(Date.parse(startedAt))}</td>
    <td>${agentName === undefined ? agentId : html`<a href="/agents/${encodeURIComponent(agentId)}">${agentName}</a>`}</td>
    <td>${caller}${userAgentId === undefined ? '' : ` (${userAgentId})`}</td>
    <td>${success ? 'ok' : (errorCode ?? 'failed')}</td>
    <td>${durationText(responseTime)}</td><td>${tokens}</td><td>${cost === undefined ? '' : dollarsText(cost)}</td>
    ${digest(requestDigest)}${digest(responseDigest)}
  </tr>`;
}
