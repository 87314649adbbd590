// Calls an agent from its page: collects the fields, shows the answer while it arrives, and offers the rating afterwards.
const readers = {
  text: ({ value }) => value,
  string: ({ value }) => value,
  number: ({ value }) => Number(value),
  boolean: ({ type, checked, value }) => (type === 'checkbox' ? checked : value === 'true'),
  lines: ({ value }) =>
    value
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  json: ({ value }) => JSON.parse(value),
};

/** The fields of the chosen skill: a message in plain words, or JSON. */
function messageOf(form) {
  const fields = [...form.querySelectorAll('fieldset:not([disabled]) [data-field]')];
  const [first] = fields;
  if (first?.dataset.field === '') return first.value;
  const input = {};
  for (const field of fields) {
    if (field.type !== 'checkbox' && field.value === '') continue;
    try {
      input[field.dataset.field] = readers[field.dataset.type](field);
    } catch {
      throw new Error(`${field.dataset.field}: this is not valid JSON.`);
    }
  }
  return JSON.stringify(input);
}

function requestOf(form, task) {
  const { agentId, timeout, maxCost } = form.elements;
  const { skill } = form.querySelector('fieldset:not([disabled])').dataset;
  const message = messageOf(form);
  const seconds = Number(timeout.value) * 1_000;
  const cost = maxCost.value === '' ? {} : { maxCost: Number(maxCost.value) };
  if (task) return { action: 'reply', taskHandle: task, message, ...(seconds ? { timeout: seconds } : {}), ...cost };
  const metadata = { ...(seconds ? { timeout: seconds } : {}), ...cost };
  return { agentId: agentId.value, message, ...(skill ? { skillId: skill } : {}), metadata };
}

/** One JSON value per line. */
async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line) yield JSON.parse(line);
  }
  if (rest) yield JSON.parse(rest);
}

async function call({ form, task, signal, onProgress }) {
  const response = await fetch(task ? '/api/tasks' : '/api/calls', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
    body: JSON.stringify(requestOf(form, task)),
    signal,
  });
  if (!response.ok) {
    const { error } = await response.json();
    throw new Error(error?.message ?? `The hub answered with status ${response.status}.`);
  }
  for await (const line of linesOf(response.body)) {
    if (line.progress) onProgress(line.progress);
    else if (line.error) throw new Error(line.error.message);
    else return line.response;
  }
  throw new Error('The hub closed the connection in the middle of the answer.');
}

function element(name, { text = '', className = '', ...rest } = {}) {
  return Object.assign(document.createElement(name), { textContent: text, className, ...rest });
}

function fileLink({ name = 'file', mediaType, base64, url }) {
  if (base64 === undefined)
    return element('a', {
      className: 'file',
      text: name,
      href: /^https?:/.test(url) ? url : '#',
      rel: 'noopener nofollow',
    });
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return element('a', {
    text: name,
    download: name,
    href: URL.createObjectURL(new Blob([bytes], { type: mediaType })),
  });
}

/** The whole answer, with what it took. */
function shownAnswer({ success, result, error, errorCode, task, metadata }) {
  const { responseTime, cost, tokensUsed, tokensEstimated } = metadata;
  const facts = [
    success ? 'ok' : errorCode,
    `${responseTime} ms`,
    tokensUsed === undefined ? '' : `${tokensEstimated ? 'about ' : ''}${tokensUsed} tokens`,
    cost === undefined ? '' : `$${cost}`,
    task ? task.state : '',
  ];
  const text =
    result?.text || task?.question || (success && !result?.data && !result?.files ? 'It answered without text.' : '');
  return [
    ...(error ? [element('p', { className: 'problem', text: error })] : []),
    ...(text ? [element('div', { className: 'answer', text })] : []),
    ...(result?.data ?? []).map((value) => element('pre', { text: JSON.stringify(value, null, 2) })),
    ...(result?.files ?? []).map((file) => fileLink(file)),
    element('p', { className: 'soft small', text: facts.filter(Boolean).join(' · ') }),
  ];
}

/** A rating needs the receipt of a call. */
function offerRating(receipt) {
  const form = document.querySelector('form[data-kind="rate"]');
  if (!form) return;
  form.elements.receipt.value = receipt;
  form.hidden = false;
}

/** Shows pieces of the answer and states while they arrive. */
function liveView(output, status) {
  const answer = element('div', { className: 'answer live' });
  output.replaceChildren(answer);
  return ({ message, state, continues }) => {
    if (state) status.textContent = state;
    if (continues === undefined) {
      if (message) status.textContent = `${state ?? ''} ${message}`.trim();
    } else answer.append(continues || answer.textContent === '' ? message : `\n${message}`);
  };
}

/** A question of the agent is answered in plain words, instead of the fields. */
function showReply(form, isReply) {
  for (const fields of form.querySelectorAll('fieldset')) {
    const isChosen =
      fields.dataset.skill === (form.elements.skillId?.value ?? form.querySelector('[data-skill]').dataset.skill);
    fields.hidden = 'reply' in fields.dataset ? !isReply : isReply || !isChosen;
    fields.disabled = fields.hidden;
  }
}

export function startCall(form) {
  const output = form.querySelector('output');
  const button = form.querySelector('button');
  const stop = form.querySelector('[data-stop]');
  const status = form.querySelector('[data-status]');
  let running;
  /** The task that asked a question. */
  let task;
  form.elements.skillId?.addEventListener('change', () => {
    task = undefined;
    button.textContent = 'Call';
    showReply(form, false);
  });
  stop.addEventListener('click', () => running?.abort());
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    running = new AbortController();
    button.disabled = true;
    stop.hidden = false;
    output.className = '';
    status.textContent = 'calling…';
    try {
      const response = await call({ form, task, signal: running.signal, onProgress: liveView(output, status) });
      output.replaceChildren(...shownAnswer(response));
      task = response.task?.question ? response.task.taskHandle : undefined;
      button.textContent = task ? 'Reply' : 'Call';
      showReply(form, task !== undefined);
      if (response.receipt) offerRating(response.receipt);
    } catch (error) {
      output.className = 'problem';
      output.textContent = running.signal.aborted ? 'You stopped the call.' : String(error?.message ?? error);
    } finally {
      button.disabled = false;
      stop.hidden = true;
      status.textContent = '';
    }
  });
}
