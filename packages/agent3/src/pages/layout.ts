// The layout of all pages. The `html` tag escapes every value.

import { VERSION } from '@pocket-agent/kit';
import { html } from 'hono/html';
import type { Caller } from '../base/agent3.ts';

export type Html = ReturnType<typeof html>;

/** Allows no resources of other origins, no inline scripts and no inline styles. */
export const SECURITY = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // with no-referrer, browsers would not name the page that sends a form
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
};

const mark = html`<svg viewBox="0 0 28 28" aria-hidden="true"><rect class="mark-ground" width="28" height="28" rx="8" /><path class="mark-line" d="M14 8 8 19h12z" /><circle class="mark-dot" cx="14" cy="8" r="3" /><circle class="mark-dot" cx="8" cy="19" r="3" /><circle class="mark-dot" cx="20" cy="19" r="3" /></svg>`;

interface PageOptions {
  title: string;
  content: Html;
  /** The owner who is signed in. */
  viewer: Caller | undefined;
}

export function page({ title, content, viewer }: PageOptions): Html {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
    <link rel="stylesheet" href="/assets/style.css">
    <script src="/assets/live.js" type="module"></script>
    <script src="/assets/forms.js" type="module"></script>
  </head>
  <body>
    <a class="skip" href="#main">Skip to content</a>
    <header class="top">
      <div class="wide bar-line">
        <a class="brand" href="/">${mark}Agent3</a>
        <span class="small">${badge({ state: 'unknown', live: '/api/health', field: 'status' })}</span>
        <nav class="pages" aria-label="Pages"><a href="/">Search</a><a href="/register">Register</a><a href="/scores">Scores</a><a href="/reference">API</a>${account(viewer)}</nav>
      </div>
    </header>
    <main id="main" class="wide">${content}</main>
    <footer><div class="wide">Agent3 ${VERSION}. Times are UTC. Descriptions and reviews are written by third parties.</div></footer>
  </body>
</html>`;
}

function account(viewer: Caller | undefined): Html {
  if (!viewer) return html`<a href="/sign-in">Sign in</a>`;
  return html`<a href="/calls">Calls</a>${viewer.isAdmin ? html`<a href="/moderation">Moderation</a>` : ''}<a href="/account">${viewer.id}</a>`;
}

/** Shown instead of a form that needs an owner token. */
export function signInLink(path: string, what: string): Html {
  return html`<p class="panel"><a href="/sign-in?${new URLSearchParams({ next: path }).toString()}">Sign in</a> ${what}</p>`;
}

export const needsScripts = html`<noscript><p class="soft">This form needs scripts. The <a href="/reference">API</a> and the command
  <code>agent3</code> do the same.</p></noscript>`;

export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28"><rect width="28" height="28" rx="8" fill="#3b4fd8"/><path d="M14 8 8 19h12z" stroke="#fff" stroke-width="2" fill="none"/><circle cx="14" cy="8" r="3" fill="#fff"/><circle cx="8" cy="19" r="3" fill="#fff"/><circle cx="20" cy="19" r="3" fill="#fff"/></svg>`;

interface BadgeOptions {
  state: string;
  /** Default: the state. */
  text?: string;
  live?: string;
  field?: string;
}

/** A state; the script keeps it up to date if `live` gives its URL. */
export function badge({ state, text = state, live, field }: BadgeOptions): Html {
  if (live === undefined) return html`<span class="badge ${state}">${text}</span>`;
  return html`<span class="badge ${state}" role="status" data-state="${state}" data-live="${live}" data-field="${field}">${state}</span>`;
}

export function rating(reputation: number | undefined, reviews: number): Html {
  if (reputation === undefined) return html`<span>not rated yet</span>`;
  return html`<span><span class="star" aria-hidden="true">★</span> ${reputation.toFixed(1)} of 5 (${reviews})</span>`;
}

export function tagLink(tag: string): Html {
  return html`<a class="tag" href="/?${new URLSearchParams({ tags: tag }).toString()}">${tag}</a>`;
}

interface NextLink {
  path: string;
  /** The query of this page. */
  parameters: URLSearchParams;
  cursor: string | undefined;
  text: string;
}

/** Links the next page of a list; empty on the last one. */
export function nextLink({ path, parameters, cursor, text }: NextLink): Html | string {
  if (cursor === undefined) return '';
  const next = new URLSearchParams(parameters);
  next.set('cursor', cursor);
  return html`<p><a href="${path}?${next.toString()}" rel="next">${text} →</a></p>`;
}
