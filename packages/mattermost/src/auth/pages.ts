// What a person sees in the browser. No scripts, nothing from elsewhere, nothing that a client named unescaped.
import type { RegisteredClient } from './clients.ts';

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // a form sent to ourselves must still say where it comes from
  'referrer-policy': 'same-origin',
};

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:4em auto;padding:0 1em}' +
  'code{overflow-wrap:anywhere}button{font:inherit;padding:.4em 1.2em;margin-right:.6em}';

interface Consent {
  client: RegisteredClient;
  redirectUri: string;
  /** The Mattermost server whose account is asked for. */
  mattermost: string;
  action: string;
  request: string;
}

export function consentPage({ client, redirectUri, mattermost, action, request }: Consent): string {
  const name = client.name === '' ? 'A program' : `<b>${escapeHtml(client.name)}</b>`;
  return page(
    'Allow access to Mattermost?',
    `<p>${name} wants to use your account at <b>${escapeHtml(mattermost)}</b>: to read and write what you can.</p>` +
      `<p>It calls itself so; nobody has checked that. After the login you are sent to <code>${escapeHtml(redirectUri)}</code>. ` +
      'If you did not just start this, choose Deny.</p>' +
      `<form method="post" action="${escapeHtml(action)}"><input type="hidden" name="request" value="${escapeHtml(request)}">` +
      '<button name="choice" value="allow">Allow</button><button name="choice" value="deny">Deny</button></form>',
  );
}

export function errorPage(text: string): Response {
  return show(page('This login cannot go on', `<p>${escapeHtml(text)}</p>`), { status: 400 });
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
