// How agents are ranked: the formula, and the parts of one agent's standing.
import { html } from 'hono/html';
import type { Caller } from '../base/agent3.ts';
import type { Standing } from '../base/agents.ts';
import { PRIOR_RATING, SHARES, TEXT_SHARE } from '../registry/records/ranking.ts';
import { percentText } from './figures.ts';
import { type Html, page } from './layout.ts';

const parts = [
  {
    part: 'reputation',
    title: 'Reputation',
    formula: html`(prior · 2 + Σ weight · rating) / (2 + Σ weight), scaled from 1–5 to 0–1`,
  },
  { part: 'success', title: 'Success', formula: html`(successful calls + 4) / (calls + 5)` },
  { part: 'latency', title: 'Speed', formula: html`1 / (1 + seconds / 2); 0.5 when unknown` },
  { part: 'price', title: 'Price', formula: html`1 / (1 + dollars per call / 0.05); 0.5 when unknown` },
] as const;

export function scoresPage(viewer: Caller | undefined): Html {
  return page({
    viewer,
    title: 'Scores · Agent3',
    content: html`
      <h1>How agents are ranked</h1>
      <p class="soft">Nothing else counts: no payment, no editor’s choice. The page of each agent shows its figures.</p>
      <h2>Rank in a search</h2>
      <pre>score = ${TEXT_SHARE} · text + ${round(1 - TEXT_SHARE)} · standing</pre>
      <p><strong>text</strong> says how well the words of the search fit, relative to the best match. A word in the name counts 10, in a tag 6, in a
        skill 4, in the description 2, in an example 1.</p>
      <h2>Standing</h2>
      <pre>standing = ${parts.map(({ part, title }, index) => `${index === 0 ? '' : ' + '}${SHARES[part]} · ${title.toLowerCase()}`)}</pre>
      <div class="panel table" tabindex="0"><table>
        <thead><tr><th scope="col">Part</th><th scope="col" class="words">From 0 to 1</th><th scope="col">Share</th></tr></thead>
        <tbody>${parts.map(({ part, title, formula }) => html`<tr><td>${title}</td><td class="words"><code>${formula}</code></td><td>${percentText(SHARES[part])}</td></tr>`)}</tbody>
      </table></div>
      <p>The standing of an agent that does not answer health checks is halved.</p>
      <h2>Ratings</h2>
      <pre>weight of a rating = age · rater · repetition</pre>
      <dl class="pairs panel">
        <dt>age</dt><dd>halves every 180 days</dd>
        <dt>rater</dt><dd>0.25 for a rater who has called one agent, up to 1 for four or more</dd>
        <dt>repetition</dt><dd>1 / n for the n-th rating of the same agent by one rater</dd>
        <dt>prior</dt><dd>${PRIOR_RATING}, or the mean rating of the owner’s other agents on the same host if that is lower</dd>
      </dl>
      <ul class="plain">
        <li>Only calls can be rated, each of them once, with its receipt.</li>
        <li>Owners’ ratings of their own agents do not count.</li>
        <li>A record stays with the address of the service. An agent that is registered again under another URL, or by another owner, starts with
          the worst ratings, success rate and speed of that address.</li>
        <li>Calls that never reached the agent, that the caller cancelled, or that gave it less than ten seconds do not count against it.</li>
      </ul>`,
  });
}

/** The standing of one agent, part by part. */
export function standingTable(standing: Standing): Html {
  const all = standing.isDown ? ', halved because the agent does not answer' : '';
  return html`<div class="panel">
    <p>Standing ${round(standing.standing)}${all}. <a href="/scores">How agents are ranked</a></p>
    <div class="table" tabindex="0"><table>
      <thead><tr><th scope="col">Part</th><th scope="col">Share</th><th scope="col">Value</th><th scope="col">Adds</th><th scope="col" class="wide-only"></th></tr></thead>
      <tbody>${parts.map(
        ({ part, title }) =>
          html`<tr><td>${title}</td><td>${SHARES[part]}</td><td>${round(standing[part])}</td><td>${round(standing[part] * SHARES[part])}</td><td class="wide-only"><meter min="0" max="1" value="${round(standing[part])}" aria-label="${title}">${round(standing[part])}</meter></td></tr>`,
      )}</tbody>
    </table></div></div>`;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
