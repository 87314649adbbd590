// HTML pages of the login: no scripts, no external resources, and all client data escaped.
import type { RegisteredClient } from './clients.ts';

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // the consent form must send its origin
  'referrer-policy': 'same-origin',
};

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:4em auto;padding:0 1em}' +
  'code{overflow-wrap:anywhere}button{font:inherit;padding:.4em 1.2em;margin-right:.6em}';

interface Consent {
  client: RegisteredClient;
  redirectUri: string;
  /** Host of the Mattermost server. */
  mattermost: string;
  action: string;
  request: string;
}

export function consentPage({ client, redirectUri, mattermost, action, request }: Consent): string {
  const name = client.name === '' ? 'A program' : `<b>${escapeHtml(client.name)}</b>`;
  return page(
    'Allow access to Mattermost?',
    `<p>${name} wants to use your account at <b>${escapeHtml(mattermost)}</b>. It can then read and write everything you can.</p>` +
      `<p>The name is not verified. After the login you are sent to <code>${escapeHtml(redirectUri)}</code>. ` +
      'If you did not start this login, choose Deny.</p>' +
      `<form method="post" action="${escapeHtml(action)}"><input type="hidden" name="request" value="${escapeHtml(request)}">` +
      '<button name="choice" value="allow">Allow</button><button name="choice" value="deny">Deny</button></form>',
  );
}

export function errorPage(text: string): Response {
  return show(page('Login failed', `<p>${escapeHtml(text)}</p>`), { status: 400 });
}

export function show(
  html: string,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
) {
  return new Response(html, { status, headers: { ...HEADERS, ...headers } });
}

function page(title: string, body: string): string {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;
  return `<!doctype html><html lang="en"><head>${head}<style>${STYLE}</style></head><body><h1>${title}</h1>${body}</body></html>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
