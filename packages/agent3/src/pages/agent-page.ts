// The page of one agent: description, statistics, skills, reviews, and how to call it.
import { html } from 'hono/html';
import type { Caller } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import type { AgentDetails, Invocation, Review } from '../base/agents.ts';
import type { Statistics } from '../base/call-records.ts';
import type { McpServerJson } from '../base/mcp-server.ts';
import { priceText } from '../base/price-text.ts';
import { mcpServersOf, serverOf } from '../cards/mcp-server.ts';
import { callCharts, type Range, ranges } from './call-charts.ts';
import { callForm } from './call-form.ts';
import { countText, dateText, durationText, percentText } from './figures.ts';
import { agentActions, ratingForm } from './forms.ts';
import { badge, type Html, page, signInLink, tagLink } from './layout.ts';
import { standingTable } from './scores-page.ts';

interface AgentPageOptions {
  agent: AgentDetails;
  statistics: Statistics;
  range: Range;
  /** Undefined if it was not available in time. */
  invocation: Invocation | undefined;
  now: number;
  viewer: Caller | undefined;
}

export function agentPage(options: AgentPageOptions): Html {
  const { agent, invocation, viewer } = options;
  const { id, name, description, version, verified, tags, health, hidden, kind, hub } = agent;
  return page({
    viewer,
    title: `${name} · Agent3`,
    content: html`
      <div class="row"><h1>${name}</h1>${badge({ state: health, live: `/api${pathOf(id)}`, field: 'health' })}${kind === 'mcp' ? html`<span class="badge plain">MCP server</span>` : ''}${verified ? html`<span class="badge plain">verified</span>` : ''}</div>
      <p class="soft small">${id} · version ${version}${provider(agent)}</p>
      ${hub === undefined ? '' : html`<p class="soft small">Listed by the hub at ${new URL(hub).host}, whose ratings and prices these are. Rate it there.</p>`}
      ${hidden === undefined ? '' : html`<p class="panel problem">A moderator has hidden this agent: ${hidden}</p>`}
      <p class="lead">${description}</p>
      <div class="row">${tags.map(tagLink)}</div>
      ${kind === 'mcp' ? serverParts(options) : agentParts(options)}
      ${cardOf(invocation)}
      ${hub === undefined ? agentActions(agent, viewer) : ''}`,
  });
}

function pathOf(id: string): string {
  return `/agents/${encodeURIComponent(id)}`;
}

function agentParts({ agent, statistics, range, invocation, now, viewer }: AgentPageOptions): Html {
  const { id, skills, recentReviews, totalReviews, score, hub } = agent;
  const path = pathOf(id);
  return html`
      ${tiles(agent)}
      <h2>Call it</h2>
      ${viewer ? html`${callForm(id, invocation?.card)}${hub === undefined ? ratingForm(id) : ''}` : signInLink(path, 'to call this agent and rate the call.')}
      <h2 class="row">Calls over time <nav class="ranges" aria-label="Time">${ranges.map(
        (one) =>
          html`<a class="range" href="${path}?range=${one.name}" ${one.name === range.name ? 'aria-current=true' : ''}>${one.name}</a>`,
      )}</nav></h2>
      ${callCharts({ statistics, range, now })}
      <h2>Skills</h2>
      ${skills.length === 0 ? html`<p class="panel">Its card lists no skills.</p>` : html`<ul class="two">${skills.map(skillItem)}</ul>`}
      <h2>Reviews</h2>
      ${recentReviews.length === 0 ? html`<p class="panel">${totalReviews === 0 ? 'No ratings yet.' : 'Its ratings are those of another agent at the same address.'}</p>` : html`<ul class="two">${recentReviews.map(reviewItem)}</ul>`}
      ${score ? html`<h2>Score</h2>${standingTable(score)}` : ''}
      <h2>In a program</h2>
      <div class="panel">
        <p>With any MCP client connected to <code>agent3</code>, or in a terminal:</p>
        <pre>agent3 call ${id} "…"</pre>
        ${facts(agent, invocation)}
      </div>`;
}

/** MCP servers are connected, not called. */
function serverParts({ agent, invocation }: AgentPageOptions): Html {
  const { id, skills, protocols } = agent;
  const server = invocation && serverOf(invocation.card);
  return html`
      <h2>Connect it</h2>
      <div class="panel">
        <p>In the file of a gateway or of any MCP client. ${protocols.includes('stdio') ? 'Read what it starts on your machine before you use it.' : ''}</p>
        ${server ? html`<pre tabindex="0">${entryText(server)}</pre>` : ''}
        <p>Or in a terminal: <code>agent3 gateway ${id} &gt; gateway.json</code>, then <code>pocket-agent gateway gateway.json</code></p>
      </div>
      <h2>Tools</h2>
      ${skills.length === 0 ? html`<p class="panel">It lists no tools without a login.</p>` : html`<ul class="two">${skills.map(skillItem)}</ul>`}`;
}

function entryText(server: McpServerJson): string {
  try {
    return JSON.stringify(mcpServersOf(server), null, 2);
  } catch (error) {
    if (error instanceof Agent3Error) return error.message;
    throw error;
  }
}

function provider({ provider: by, owner, proof }: AgentDetails): Html {
  const registered = html` · ${proof === undefined ? 'registered by' : 'owned by'} ${owner}${proof === undefined ? ', not proved to be the owner' : ''}`;
  if (!by) return registered;
  const isLink = /^https?:\/\//.test(by.url);
  return html` · by ${isLink ? html`<a href="${by.url}" rel="noopener nofollow ugc">${by.organization}</a>` : by.organization}${registered}`;
}

function tiles({ reputation, totalReviews, price, metrics }: AgentDetails): Html {
  return html`<dl class="tiles">
    <div><dt>${countText(totalReviews)} ${totalReviews === 1 ? 'rating' : 'ratings'}</dt><dd>${reputation === undefined ? '–' : html`<span class="star" aria-hidden="true">★</span> ${reputation.toFixed(1)}`}</dd></div>
    <div><dt>success rate, all time</dt><dd>${metrics ? percentText(metrics.successRate) : '–'}</dd></div>
    <div><dt>median time, recent calls</dt><dd>${metrics ? durationText(metrics.avgResponseTime) : '–'}</dd></div>
    <div><dt>calls, all time</dt><dd>${countText(metrics?.totalCalls ?? 0)}</dd></div>
    <div><dt>${price ? 'price' : 'no price given'}</dt><dd>${price ? priceText(price) : '–'}</dd></div>
  </dl>`;
}

function skillItem({ name, description, tags, examples }: AgentDetails['skills'][number]): Html {
  return html`<li class="panel"><h3>${name}</h3><p>${description}</p>
    ${examples.slice(0, 3).map((example) => html`<blockquote>“${example}”</blockquote>`)}
    <div class="row">${tags.slice(0, 6).map(tagLink)}</div></li>`;
}

function reviewItem({ rater, userAgentId, rating, feedback, timestamp }: Review): Html {
  return html`<li class="panel"><div class="facts"><span><span class="star" aria-hidden="true">★</span> ${rating} of 5</span><span>by ${rater}${userAgentId === undefined ? '' : ` (${userAgentId})`}</span><time datetime="${timestamp}">${dateText(timestamp)}</time></div><p>${feedback}</p></li>`;
}

function facts(agent: AgentDetails, invocation: Invocation | undefined): Html {
  const { inputModes, outputModes, protocols, rateLimit, refreshedAt, asCaller } = agent;
  const { authentication } = invocation ?? {};
  const login = authentication?.schemes.join(', ');
  return html`<dl class="pairs">
    <dt>Protocols</dt><dd>${protocols.join(', ')}</dd>
    <dt>Input</dt><dd>${inputModes.join(', ')}</dd>
    <dt>Output</dt><dd>${outputModes.join(', ')}</dd>
    ${authentication ? html`<dt>Authentication</dt><dd>${login ? `${login} (${authentication.available ? 'credentials registered' : 'no credentials registered'})` : 'not required'}</dd>` : ''}
    ${rateLimit ? html`<dt>Rate limit</dt><dd>${countText(rateLimit.calls)} calls in ${countText(rateLimit.perSeconds)} s</dd>` : ''}
    ${asCaller ? html`<dt>As a caller</dt><dd>${countText(asCaller.calls)} calls made, ${countText(asCaller.ratings)} ratings given</dd>` : ''}
    <dt>Card fetched</dt><dd>${dateText(refreshedAt)}</dd>
  </dl>`;
}

function cardOf(invocation: Invocation | undefined): Html {
  if (!invocation) return html`<p class="panel soft">The card is being fetched. Reload the page to see it.</p>`;
  return html`<details class="panel"><summary>${serverOf(invocation.card) ? 'Record in the registry' : 'A2A card'}</summary><pre tabindex="0">${JSON.stringify(invocation.card, null, 2)}</pre></details>`;
}
