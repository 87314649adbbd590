// The account of an owner: limits, spending, tokens, and the secrets of their agents; and the monthly statement.
import { html } from 'hono/html';
import type { Account, Statement } from '../base/account.ts';
import type { Caller } from '../base/agent3.ts';
import { dollarsText } from '../base/price-text.ts';
import { countText, dateText, timeText } from './figures.ts';
import { badge, type Html, needsScripts, page } from './layout.ts';

interface AccountPageOptions {
  account: Account;
  /** Whether the hub keeps named tokens. */
  hasTokens: boolean;
  viewer: Caller;
}

export function accountPage({ account, hasTokens, viewer }: AccountPageOptions): Html {
  const { owner, isAdmin, spent, tokens, agents } = account;
  return page({
    viewer,
    title: 'Account · Agent3',
    content: html`
      <div class="row"><h1>${owner}</h1>${isAdmin ? html`<span class="badge plain">admin</span>` : ''}
        <form class="end" action="/sign-out" method="post"><button class="quiet">Sign out</button></form></div>
      ${needsScripts}
      <h2>Spending</h2>
      ${limitsForm(account)}
      <p class="soft small">${hasLimit(account) ? `Reserved or spent: ${dollarsText(spent.today)} today, ${dollarsText(spent.thisMonth)} this month. ` : ''}<a href="/statement">Statement of this month, with receipts</a></p>
      ${hasTokens ? tokenSection(tokens) : ''}
      <h2>Agents and their secrets</h2>
      ${agents.length === 0 ? html`<p class="panel">You have registered no agents. <a href="/register">Register one</a></p>` : html`<ul class="agents">${agents.map(agentItem)}</ul>`}`,
  });
}

function hasLimit({ limits }: Account): boolean {
  return Object.values(limits).some((limit) => limit !== undefined);
}

function limitsForm({ limits }: Account): Html {
  const field = (name: 'perCall' | 'perDay' | 'perMonth', label: string) =>
    html`<label>${label} <input type="number" name="${name}" min="0" step="any" value="${limits[name] ?? ''}" placeholder="no limit"></label>`;
  return html`<form class="panel sent" data-send="/api/account/limits" data-method="PUT" data-kind="saved">
    <p>What your calls to paid agents may cost in US dollars. Calls within the limit per call are made without a question.</p>
    <div class="filters">${field('perCall', 'Per call')}${field('perDay', 'Per day')}${field('perMonth', 'Per month')}</div>
    <button>Agree</button><output aria-label="Limits"></output>
  </form>`;
}

function tokenSection(tokens: Account['tokens']): Html {
  return html`<h2>Tokens</h2>
    <form class="panel sent" data-send="/api/account/tokens" data-kind="token">
      <p>One for each program, so that you can revoke it alone. The token you got from the operator is not listed.</p>
      <div class="filters">
        <label>Name <input type="text" name="name" maxlength="100" placeholder="laptop" required></label>
        <label>Valid for (days) <input type="number" name="days" min="1" max="3650" step="1" value="365" required></label>
      </div>
      <button>Create a token</button><output aria-label="New token"></output>
    </form>
    ${
      tokens.length === 0
        ? ''
        : html`<ul class="panel list">${tokens.map(
            ({ id, name, createdAt, expiresAt }) => html`<li class="row">
              <strong>${name}</strong><span class="soft small">created ${dateText(createdAt)}, valid until ${dateText(expiresAt)}</span>
              <div class="end">${actionButton({ path: `/api/account/tokens/${id}`, method: 'DELETE', text: 'Revoke', question: `Revoke the token ${name}?` })}</div>
            </li>`,
          )}</ul>`
    }`;
}

function agentItem({ id, name, proof, hidden, credentials }: Account['agents'][number]): Html {
  const path = `/agents/${encodeURIComponent(id)}`;
  const kinds = credentials.map(({ type, host }) => (host === undefined ? type : `${type} for ${host}`)).join(', ');
  const remove = {
    path: `/api${path}`,
    method: 'DELETE',
    text: 'Remove agent',
    question: `Remove ${name} from the hub?`,
  };
  const removeSecrets = {
    path: `/api${path}/credentials`,
    method: 'PUT',
    body: JSON.stringify({ credentials: [] }),
    text: 'Remove secrets',
    question: `Remove the secrets of ${name}?`,
  };
  return html`<li class="panel">
    <div class="row"><h3><a href="${path}">${name}</a></h3>${proof === undefined ? '' : html`<span class="badge plain">owner proved</span>`}${hidden === undefined ? '' : badge({ state: 'down', text: 'hidden' })}
      <div class="end">${kinds === '' ? '' : actionButton(removeSecrets)}${actionButton(remove)}</div></div>
    ${hidden === undefined ? '' : html`<p class="problem">Hidden by a moderator: ${hidden}</p>`}
    <p class="soft small">${kinds === '' ? 'No secrets: calls to it send no credentials.' : `Calls to it send: ${kinds}`}</p>
    <details><summary>${kinds === '' ? 'Add a secret' : 'Replace the secrets'}</summary>
      <form class="sent" data-send="/api${path}/credentials" data-method="PUT" data-kind="secret">
        <div class="filters">
          <label>Kind <select name="type"><option value="bearer">Bearer token</option><option value="apiKey">API key</option></select></label>
          <label>Secret <input type="password" name="secret" autocomplete="off" required></label>
        </div>
        <button>Save</button><output aria-label="Secret"></output>
      </form></details>
  </li>`;
}

interface Action {
  path: string;
  method: string;
  text: string;
  question: string;
  body?: string;
}

/** A button that asks before it acts. */
function actionButton({ path, method, text, question, body = '' }: Action): Html {
  return html`<form data-send="${path}" data-method="${method}" data-kind="reload" data-body="${body}" data-confirm="${question}"><button class="quiet">${text}</button><output aria-label="${text}"></output></form>`;
}

export function statementPage(statement: Statement, viewer: Caller): Html {
  const { owner, month, calls, cost, agents, days, receipts } = statement;
  return page({
    viewer,
    title: `Statement ${month} · Agent3`,
    content: html`
      <h1>Statement ${month}</h1>
      <p class="soft">What ${owner} paid for calls to agents, by their declared prices. <a href="/statement?month=${neighbour(month, -1)}">${neighbour(month, -1)}</a> · <a href="/statement?month=${neighbour(month, 1)}">${neighbour(month, 1)}</a></p>
      <dl class="tiles"><div><dt>paid calls</dt><dd>${countText(calls)}</dd></div><div><dt>total</dt><dd>${dollarsText(cost)}</dd></div></dl>
      ${calls === 0 ? html`<p class="panel spaced">No paid calls in this month.</p>` : ''}
      ${
        agents.length === 0
          ? ''
          : html`<h2>By agent</h2>${sumTable(
              'Agent',
              agents.map(({ agentId, name, ...sum }) => ({
                label: html`<a href="/agents/${encodeURIComponent(agentId)}">${name}</a>`,
                ...sum,
              })),
            )}`
      }
      ${
        days.length === 0
          ? ''
          : html`<h2>By day</h2>${sumTable(
              'Day',
              days.map(({ day, ...sum }) => ({ label: html`${day}`, ...sum })),
            )}`
      }
      ${
        receipts.length === 0
          ? ''
          : html`<h2>Receipts</h2><p class="soft small">A receipt proves a call to its agent’s owner: <code>GET /api/receipts/RECEIPT</code>. ${receipts.length < calls ? `The newest ${countText(receipts.length)} are shown.` : ''}</p>
            <div class="panel table" tabindex="0"><table><thead><tr><th scope="col">Time</th><th scope="col" class="words">Agent</th><th scope="col">Cost</th><th scope="col" class="words">Receipt</th></tr></thead>
            <tbody>${receipts.map(({ startedAt, agentId, agentName, cost: paid = 0, receipt = '' }) => html`<tr><td>${timeText(Date.parse(startedAt))}</td><td class="words">${agentName ?? agentId}</td><td>${dollarsText(paid)}</td><td class="words"><code>${receipt}</code></td></tr>`)}</tbody></table></div>`
      }`,
  });
}

function sumTable(title: string, rows: readonly { label: Html; calls: number; cost: number }[]): Html {
  return html`<div class="panel table" tabindex="0"><table><thead><tr><th scope="col">${title}</th><th scope="col">Calls</th><th scope="col">Cost</th></tr></thead>
    <tbody>${rows.map(({ label, calls, cost }) => html`<tr><td>${label}</td><td>${countText(calls)}</td><td>${dollarsText(cost)}</td></tr>`)}</tbody></table></div>`;
}

function neighbour(month: string, step: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + step)).toISOString().slice(0, 7);
}
