// The start page: search with filters.
import { html } from 'hono/html';
import type { HubHealth } from '../base/agent3.ts';
import type { AgentSummary, SearchPage } from '../base/agents.ts';
import { priceText } from '../base/price-text.ts';
import { countText, durationText, successText } from './figures.ts';
import { badge, type Html, nextLink, page, rating, tagLink } from './layout.ts';

export interface SearchPageOptions {
  asked: URLSearchParams;
  found: SearchPage;
  health: HubHealth;
}

export function searchPage({ asked, found, health }: SearchPageOptions): Html {
  const query = asked.get('query') ?? '';
  const { totalAgents, activeAgents, recentCalls, totalFeedback } = health.network;
  return page({
    title: query ? `${query} · Agent3` : 'Agent3: find, call and rate agents',
    content: html`
      <h1>Find an agent</h1>
      <p class="soft">A2A agents with their ratings, prices and success rates.</p>
      ${form(asked)}
      <dl class="tiles">
        <div><dt>agents</dt><dd>${countText(totalAgents)}</dd></div>
        <div><dt>answering now</dt><dd>${countText(activeAgents)}</dd></div>
        <div><dt>calls in 24 hours</dt><dd>${countText(recentCalls)}</dd></div>
        <div><dt>ratings</dt><dd>${countText(totalFeedback)}</dd></div>
      </dl>
      <h2>${headline(found, isFiltered(asked))}</h2>
      ${found.agents.length === 0 ? html`<p class="panel">No agents match. Try other words, or fewer filters.</p>` : ''}
      <ul class="agents">${found.agents.map(agentItem)}</ul>
      ${nextLink({ path: '/', asked, cursor: found.nextCursor, text: 'More agents' })}`,
  });
}

function headline({ totalFound, searchTime }: SearchPage, isSearch: boolean): string {
  if (!isSearch) return 'All agents, best first';
  return `${countText(totalFound)} found in ${durationText(searchTime)}`;
}

function isFiltered(asked: URLSearchParams): boolean {
  return [...asked].some(([name, value]) => name !== 'cursor' && value !== '');
}

function form(asked: URLSearchParams): Html {
  const given = (name: string) => asked.get(name) ?? '';
  const hasFilters = [...asked].some(([name, value]) => !['query', 'cursor', 'limit'].includes(name) && value !== '');
  return html`<form class="search panel" action="/" method="get" role="search">
    <div class="line">
      <input type="search" name="query" value="${given('query')}" maxlength="500" aria-label="What the agent should do" placeholder="translate a contract, forecast the weather …">
      <button>Search</button>
    </div>
    <details ${hasFilters ? 'open' : ''}>
      <summary>Filters</summary>
      <div class="filters">
        <label>Minimum rating
          <select name="minReputation">
            ${['', '3', '4', '4.5'].map((value) => html`<option value="${value}" ${value === given('minReputation') ? 'selected' : ''}>${value || 'any'}</option>`)}
          </select>
        </label>
        <label>Maximum price per call (USD) <input type="number" name="maxPricePerCall" min="0" step="any" value="${given('maxPricePerCall')}"></label>
        <label>Tags <input type="text" name="tags" value="${given('tags')}" placeholder="weather, german"></label>
        <label>Protocol
          <select name="protocols">
            ${['', 'JSONRPC', 'HTTP+JSON', 'GRPC'].map((value) => html`<option value="${value}" ${value === given('protocols') ? 'selected' : ''}>${value || 'any'}</option>`)}
          </select>
        </label>
        <label class="check"><input type="checkbox" name="verified" value="true" ${given('verified') === 'true' ? 'checked' : ''}> signature verified</label>
        <label class="check"><input type="checkbox" name="healthy" value="true" ${given('healthy') === 'true' ? 'checked' : ''}> answering now</label>
      </div>
    </details>
  </form>`;
}

function agentItem(agent: AgentSummary): Html {
  const { id, name, description, reputation, totalReviews, verified, tags, price, health, metrics } = agent;
  return html`<li class="panel">
    <div class="row"><h3><a href="/agents/${encodeURIComponent(id)}">${name}</a></h3>${badge({ state: health })}${verified ? html`<span class="badge plain">verified</span>` : ''}</div>
    <p>${description}</p>
    <div class="facts">${rating(reputation, totalReviews)}<span>${priceText(price)}</span>${
      metrics
        ? html`<span>${successText(metrics)}</span><span>${durationText(metrics.avgResponseTime)}</span>`
        : html`<span>never called</span>`
    }</div>
    <div class="row">${tags.slice(0, 8).map(tagLink)}</div>
  </li>`;
}
