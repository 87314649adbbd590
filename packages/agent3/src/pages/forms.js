// Sends the forms of a page to the API: `data-send` is the path, `data-method` the method (default POST), `data-kind` the kind of
// response. Browsers send the cookie of the sign-in along.
import { startCall } from './call.js';

const messages = {
  register: ({ id, name }) => [link(`/agents/${encodeURIComponent(id)}`, `${name} is registered`)],
  rate: () => ['Thank you, the rating is saved.'],
  report: () => ['Thank you, the admins of this hub will read it.'],
  saved: () => ['Saved.'],
  claim: ({ proved, message }) => {
    if (proved) location.reload();
    return [message];
  },
  token: ({ token }) => ['Copy it now, it is not shown again: ', code(token)],
  secret: reload,
  reload,
};

const bodies = {
  secret: ({ type, secret }) => ({ credentials: [{ type, [type === 'bearer' ? 'token' : 'key']: secret }] }),
  register: ({ kind, cardUrl, tags = '', perCall }) => ({
    ...(kind === 'mcp' ? { mcpUrl: cardUrl } : { cardUrl }),
    ...(tags ? { tags: listOf(tags) } : {}),
    ...(perCall === undefined ? {} : { price: { perCall } }),
  }),
};

function reload() {
  location.reload();
  return ['Done.'];
}

function listOf(text) {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}

function link(href, text) {
  const anchor = document.createElement('a');
  anchor.href = href;
  anchor.textContent = text;
  return anchor;
}

function code(text) {
  const element = document.createElement('code');
  element.textContent = text;
  return element;
}

/** The fields as the API expects them, without empty ones. */
function bodyOf(form) {
  if (form.dataset.body) return JSON.parse(form.dataset.body);
  const fields = {};
  for (const { name, value, type } of form.elements) {
    if (!name || value === '') continue;
    fields[name] = type === 'number' || name === 'rating' ? Number(value) : value;
  }
  return (bodies[form.dataset.kind] ?? ((all) => all))(fields);
}

async function send(form) {
  const { method = 'POST', kind } = form.dataset;
  const response = await fetch(form.dataset.send, {
    method,
    headers: { 'content-type': 'application/json' },
    body: method === 'DELETE' ? undefined : JSON.stringify(bodyOf(form)),
  });
  const answer = response.status === 204 ? {} : await response.json();
  if (!response.ok) throw new Error(answer.error?.message ?? `The hub answered with status ${response.status}.`);
  return messages[kind](answer);
}

function prepare(form) {
  const output = form.querySelector('output');
  const button = form.querySelector('button');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (form.dataset.confirm && !confirm(form.dataset.confirm)) return;
    button.disabled = true;
    output.className = '';
    output.textContent = 'Sending…';
    try {
      output.replaceChildren(...(await send(form)));
    } catch (error) {
      output.className = 'problem';
      output.textContent = error instanceof Error ? error.message : String(error);
    } finally {
      button.disabled = false;
    }
  });
}

for (const form of document.querySelectorAll('form[data-send]'))
  (form.dataset.kind === 'call' ? startCall : prepare)(form);
