// The start page: search with filters.
import { html } from 'hono/html';
import type { Caller, HubHealth } from '../base/agent3.ts';
import type { AgentSummary, SearchPage } from '../base/agents.ts';
import { priceText } from '../base/price-text.ts';
import { countText, durationText, successText } from './figures.ts';
import { badge, type Html, nextLink, page, rating, tagLink } from './layout.ts';

interface SearchPageOptions {
  parameters: URLSearchParams;
  result: SearchPage;
  health: HubHealth;
  viewer: Caller | undefined;
}

export function searchPage({ parameters, result, health, viewer }: SearchPageOptions): Html {
  const query = parameters.get('query') ?? '';
  const { totalAgents, activeAgents, recentCalls, totalFeedback } = health.network;
  return page({
    viewer,
    title: query ? `${query} · Agent3` : 'Agent3: find, call and rate agents',
    content: html`
      <h1>Find an agent</h1>
      <p class="soft">A2A agents with their ratings, prices and success rates, and MCP servers.</p>
      ${form(parameters)}
      <dl class="tiles">
        <div><dt>agents</dt><dd>${countText(totalAgents)}</dd></div>
        <div><dt>answering now</dt><dd>${countText(activeAgents)}</dd></div>
        <div><dt>calls in 24 hours</dt><dd>${countText(recentCalls)}</dd></div>
        <div><dt>ratings</dt><dd>${countText(totalFeedback)}</dd></div>
      </dl>
      <h2>${headline(result, isFiltered(parameters))}</h2>
      ${result.agents.length === 0 ? html`<p class="panel">No agents match. Try other words, or fewer filters.</p>` : ''}
      <ul class="agents">${result.agents.map(agentItem)}</ul>
      ${silentHubs(result)}
      ${nextLink({ path: '/', parameters, cursor: result.nextCursor, text: 'More agents' })}`,
  });
}

function silentHubs({ hubs = [] }: SearchPage): Html | string {
  const silent = hubs.filter(({ answered }) => !answered).map(({ hub }) => new URL(hub).host);
  return silent.length === 0 ? '' : html`<p class="soft small">Did not answer: ${silent.join(', ')}</p>`;
}

function headline({ totalFound, searchTime }: SearchPage, isSearch: boolean): string {
  if (!isSearch) return 'All agents, best first';
  return `${countText(totalFound)} found in ${durationText(searchTime)}`;
}

function isFiltered(parameters: URLSearchParams): boolean {
  return [...parameters].some(([name, value]) => name !== 'cursor' && value !== '');
}

const kinds = [
  ['', 'agents and MCP servers'],
  ['a2a', 'agents'],
  ['JSONRPC', 'agents over JSON-RPC'],
  ['HTTP+JSON', 'agents over REST'],
  ['GRPC', 'agents over gRPC'],
  ['mcp', 'MCP servers'],
] as const;

function form(parameters: URLSearchParams): Html {
  const field = (name: string) => parameters.get(name) ?? '';
  const hasFilters = [...parameters].some(
    ([name, value]) => !['query', 'cursor', 'limit'].includes(name) && value !== '',
  );
  return html`<form class="search panel" action="/" method="get" role="search">
    <div class="line">
      <input type="search" name="query" value="${field('query')}" maxlength="500" aria-label="What the agent should do" placeholder="translate a contract, forecast the weather …">
      <button>Search</button>
    </div>
    <details ${hasFilters ? 'open' : ''}>
      <summary>Filters</summary>
      <div class="filters">
        <label>Minimum rating
          <select name="minReputation">
            ${['', '3', '4', '4.5'].map((value) => html`<option value="${value}" ${value === field('minReputation') ? 'selected' : ''}>${value || 'any'}</option>`)}
          </select>
        </label>
        <label>Maximum price per call (USD) <input type="number" name="maxPricePerCall" min="0" step="any" value="${field('maxPricePerCall')}"></label>
        <label>Tags <input type="text" name="tags" value="${field('tags')}" placeholder="weather, german"></label>
        <label>Kind
          <select name="protocols">
            ${kinds.map(([value, text]) => html`<option value="${value}" ${value === field('protocols') ? 'selected' : ''}>${text}</option>`)}
          </select>
        </label>
        <label class="check"><input type="checkbox" name="verified" value="true" ${field('verified') === 'true' ? 'checked' : ''}> signature verified</label>
        <label class="check"><input type="checkbox" name="healthy" value="true" ${field('healthy') === 'true' ? 'checked' : ''}> answering now</label>
      </div>
    </details>
  </form>`;
}

function agentItem(agent: AgentSummary): Html {
  const { id, name, description, verified, tags, health, kind, hub } = agent;
  return html`<li class="panel">
    <div class="row"><h3><a href="/agents/${encodeURIComponent(id)}">${name}</a></h3>${badge({ state: health })}${kind === 'mcp' ? html`<span class="badge plain">MCP server</span>` : ''}${verified ? html`<span class="badge plain">verified</span>` : ''}${hub === undefined ? '' : html`<span class="badge plain">at ${new URL(hub).host}</span>`}</div>
    <p>${description}</p>
    ${kind === 'mcp' ? '' : facts(agent)}
    <div class="row">${tags.slice(0, 8).map(tagLink)}</div>
  </li>`;
}

function facts({ reputation, totalReviews, price, metrics }: AgentSummary): Html {
  return html`<div class="facts">${rating(reputation, totalReviews)}<span>${priceText(price)}</span>${
    metrics
      ? html`<span>${successText(metrics)}</span><span>${durationText(metrics.avgResponseTime)}</span>`
      : html`<span>never called</span>`
  }</div>`;
}
