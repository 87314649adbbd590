// Forms to register, rate, report and claim an agent. forms.js sends them to the API.
import { html } from 'hono/html';
import type { Caller } from '../base/agent3.ts';
import type { AgentDetails } from '../base/agents.ts';
import { type Html, needsScripts, page, signInLink } from './layout.ts';

/** Shown after a call, whose receipt forms.js enters. */
export function ratingForm(agentId: string): Html {
  return html`<form class="panel sent" data-send="/api/feedback" data-kind="rate" hidden>
      <input type="hidden" name="agentId" value="${agentId}">
      <input type="hidden" name="receipt">
      <label class="field">Rating <select name="rating">${[5, 4, 3, 2, 1].map((stars) => html`<option value="${stars}">${stars} of 5</option>`)}</select></label>
      <label class="field">Review, which everyone can read <textarea name="feedback" rows="2" maxlength="10000" required></textarea></label>
      <button>Rate</button>
      <output aria-label="Rating"></output>
    </form>`;
}

/** What an owner may do about an agent beside calling it. */
export function agentActions({ id, owner, proof, hidden }: AgentDetails, viewer: Caller | undefined): Html {
  if (!viewer) return html``;
  const path = `/api/agents/${encodeURIComponent(id)}`;
  const isOwner = owner === viewer.id;
  const mayClaim = !isOwner || proof === undefined;
  return html`<h2>Something else</h2>
    ${isOwner ? '' : reportForm(path)}
    ${mayClaim ? claimForm(path, isOwner) : ''}
    ${viewer.isAdmin ? moderationForm(path, hidden) : ''}`;
}

function reportForm(path: string): Html {
  return html`<details class="panel"><summary>Report this agent</summary>
    <form class="sent" data-send="${path}/reports" data-kind="report">
      <label class="field">What is wrong with it? Only the admins of this hub read this. <textarea name="reason" rows="2" maxlength="2000" required></textarea></label>
      <button>Report</button><output aria-label="Report"></output>
    </form></details>`;
}

function claimForm(path: string, isOwner: boolean): Html {
  return html`<details class="panel"><summary>${isOwner ? 'Prove that this agent is yours' : 'This agent is mine'}</summary>
    <form class="sent" data-send="${path}/claim" data-kind="claim">
      <p>If its card names you as owner, or a file on its host has your code, it is yours, and the page says so.</p>
      <button>Claim</button><output aria-label="Claim"></output>
    </form></details>`;
}

export function moderationForm(path: string, hidden: string | undefined): Html {
  return hidden === undefined
    ? html`<details class="panel"><summary>Hide this agent</summary>
        <form class="sent" data-send="${path}/moderation" data-method="PUT" data-kind="reload">
          <label class="field">Reason, which its owner sees <input type="text" name="hidden" maxlength="500" required></label>
          <button>Hide</button><output aria-label="Moderation"></output>
        </form></details>`
    : html`<form class="panel sent" data-send="${path}/moderation" data-method="PUT" data-kind="reload" data-body="${JSON.stringify({ hidden: null })}">
        <p>Hidden: ${hidden}</p><button>Show it again</button><output aria-label="Moderation"></output></form>`;
}

export function registerPage(viewer: Caller | undefined): Html {
  return page({
    viewer,
    title: 'Register · Agent3',
    content: html`
      <div class="narrow">
        <h1>Register an agent</h1>
        <p class="soft">The hub fetches the A2A card of an agent, or lists the tools of an MCP server, and shows it under your name.</p>
        ${viewer ? registerForm : signInLink('/register', 'to register an agent.')}
      </div>`,
  });
}

const registerForm = html`<form class="panel sent" data-send="/api/agents" data-kind="register">
    ${needsScripts}
 <label class="field">Kind <select name="kind"><option value="agent">A2A agent</option><option value="mcp">MCP server</option></select></label>
    <label class="field">URL of the card, or of the MCP server <input type="url" name="cardUrl" maxlength="2000" placeholder="https://agent.example/.well-known/agent-card.json" required></label>
    <label class="field">Price per call (USD) <input type="number" name="perCall" min="0" step="any" placeholder="not given"></label>
    <label class="field">Tags <input type="text" name="tags" placeholder="weather, german"></label>
    <button>Register</button>
    <output aria-label="Registration"></output>
  </form>`;
