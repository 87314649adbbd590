// The call log page: the reader's own calls, or all calls for an admin.
import { html } from 'hono/html';
import type { Caller } from '../base/agent3.ts';
import type { CallLog, CallLogEntry } from '../base/call-records.ts';
import { dollarsText } from '../base/price-text.ts';
import { countText, durationText, timeText } from './figures.ts';
import { badge, type Html, nextLink, page } from './layout.ts';

interface CallsPageOptions {
  parameters: URLSearchParams;
  log: CallLog;
  viewer: Caller;
}

export function callsPage({ parameters, log, viewer }: CallsPageOptions): Html {
  const { isAdmin } = viewer;
  return page({
    viewer,
    title: 'Calls · Agent3',
    content: html`
      <h1>Calls</h1>
      <p class="soft">${isAdmin ? 'All calls' : 'Your calls'} of the last 90 days, newest first. Messages are not stored, only their SHA-256 digests. <a href="/statement">Statement of this month</a></p>
      ${filterForm(parameters, isAdmin === true)}
      ${log.calls.length === 0 ? html`<p class="panel">No calls.</p>` : table(log.calls)}
      ${nextLink({ path: '/calls', parameters, cursor: log.nextCursor, text: 'Earlier calls' })}`,
  });
}

function filterForm(parameters: URLSearchParams, isAdmin: boolean): Html {
  const field = (name: string, label: string) =>
    html`<label>${label} <input type="text" name="${name}" value="${parameters.get(name) ?? ''}" maxlength="200"></label>`;
  const names = [
    ['agentId', 'Agent id'],
    ['userAgentId', 'Calling agent'],
    ...(isAdmin ? [['caller', 'Caller']] : []),
  ] as const;
  const isUsed = names.some(([name = '']) => parameters.get(name));
  return html`<form class="panel spaced" action="/calls" method="get"><details ${isUsed ? 'open' : ''}><summary>Filters</summary>
    <div class="filters">${names.map(([name = '', label = '']) => field(name, label))}<button>Show</button></div></details></form>`;
}

function table(calls: readonly CallLogEntry[]): Html {
  return html`<div class="panel table" tabindex="0"><table class="stacked">
    <thead><tr><th scope="col">Time</th><th scope="col" class="words">Agent</th><th scope="col" class="words">Caller</th><th scope="col" class="words">Outcome</th><th scope="col">Took</th><th scope="col">Tokens</th><th scope="col">Cost</th><th scope="col" class="wide-only">Request</th><th scope="col" class="wide-only">Answer</th></tr></thead>
    <tbody>${calls.map(row)}</tbody>
  </table></div>`;
}

function row(entry: CallLogEntry): Html {
  const { agentId, agentName, caller, userAgentId, startedAt, success, errorCode, responseTime } = entry;
  const { tokensUsed, tokensEstimated, cost, requestDigest, responseDigest = '' } = entry;
  const tokens = tokensUsed === undefined ? '' : `${tokensEstimated ? '≈ ' : ''}${countText(tokensUsed)}`;
  const digest = (label: string, text: string) =>
    html`<td class="wide-only" data-label="${label}" title="${text}"><code>${text.slice(0, 8)}</code></td>`;
  return html`<tr>
    <td>${timeText(Date.parse(startedAt))}</td>
    <td class="words">${agentName === undefined ? agentId : html`<a href="/agents/${encodeURIComponent(agentId)}">${agentName}</a>`}</td>
    <td class="words" data-label="by">${caller}${userAgentId === undefined ? '' : ` (${userAgentId})`}</td>
    <td class="words">${success ? badge({ state: 'up', text: 'ok' }) : badge({ state: 'down', text: errorCode ?? 'failed' })}</td>
    <td data-label="took">${durationText(responseTime)}</td><td data-label="tokens">${tokens}</td><td data-label="cost">${cost === undefined ? '' : dollarsText(cost)}</td>
    ${digest('request', requestDigest)}${digest('answer', responseDigest)}
  </tr>`;
}
