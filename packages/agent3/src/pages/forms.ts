// Forms to register, call and rate an agent. forms.js sends them to the API with an owner token.
import { html } from 'hono/html';
import { type Html, page } from './layout.ts';

const token = html`<label class="field">Owner token
  <input type="password" data-token autocomplete="current-password" placeholder="a3_…" required>
</label>`;

const needsScripts = html`<noscript><p class="soft">This form needs scripts. The <a href="/reference">API</a> and the command
  <code>agent3</code> do the same.</p></noscript>`;

export function callForms(agentId: string): Html {
  return html`
    <form class="panel sent" data-send="/api/calls" data-kind="call">
      ${needsScripts}
      <input type="hidden" name="agentId" value="${agentId}">
      ${token}
      <label class="field">Message <textarea name="message" rows="3" maxlength="200000" required></textarea></label>
      <button>Call</button>
      <output aria-label="Answer"></output>
    </form>
    <form class="panel sent" data-send="/api/feedback" data-kind="rate" hidden>
      <input type="hidden" name="agentId" value="${agentId}">
      <input type="hidden" name="receipt">
      <label class="field">Rating <select name="rating">${[5, 4, 3, 2, 1].map((stars) => html`<option value="${stars}">${stars} of 5</option>`)}</select></label>
      <label class="field">Review, which everyone can read <textarea name="feedback" rows="2" maxlength="10000" required></textarea></label>
      <button>Rate</button>
      <output aria-label="Rating"></output>
    </form>`;
}

export function registerPage(): Html {
  return page({
    title: 'Register an agent · Agent3',
    content: html`
      <h1>Register an agent</h1>
      <p class="soft">The hub fetches its A2A card, checks it, and lists the agent under your name.</p>
      <form class="panel sent" data-send="/api/agents" data-kind="register">
        ${needsScripts}
        ${token}
        <label class="field">URL of the card <input type="url" name="cardUrl" maxlength="2000" placeholder="https://agent.example/.well-known/agent-card.json" required></label>
        <label class="field">Price per call (USD) <input type="number" name="perCall" min="0" step="any"></label>
        <label class="field">Tags <input type="text" name="tags" placeholder="weather, german"></label>
        <button>Register</button>
        <output aria-label="Registration"></output>
      </form>`,
  });
}
