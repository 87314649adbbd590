// For admins: agents that were reported or hidden.
import { html } from 'hono/html';
import type { Caller } from '../base/agent3.ts';
import type { ReportList } from '../base/agents.ts';
import { dateText } from './figures.ts';
import { moderationForm } from './forms.ts';
import { type Html, page } from './layout.ts';

export function moderationPage({ agents }: ReportList, viewer: Caller): Html {
  return page({
    viewer,
    title: 'Moderation · Agent3',
    content: html`
      <h1>Moderation</h1>
      <p class="soft">Reported and hidden agents, most reports first. Hidden agents are not found and not called; their owners see the reason.</p>
      ${agents.length === 0 ? html`<p class="panel">No agent is reported or hidden.</p>` : html`<ul class="agents">${agents.map(item)}</ul>`}`,
  });
}

function item({ agentId, name, owner, hidden, reports }: ReportList['agents'][number]): Html {
  const path = `/agents/${encodeURIComponent(agentId)}`;
  return html`<li class="panel">
    <div class="row"><h3><a href="${path}">${name}</a></h3>${hidden === undefined ? '' : html`<span class="badge down">hidden</span>`}</div>
    <p class="soft small">${agentId} · registered by ${owner}</p>
    ${reports.map(({ reporter, reason, timestamp }) => html`<blockquote>“${reason}”<br><span class="small">${reporter}, ${dateText(timestamp)}</span></blockquote>`)}
    ${moderationForm(`/api${path}`, hidden)}
  </li>`;
}
