// Sends the forms of a page to the API: `data-send` is the path, `data-kind` the kind of response. The owner token stays in the page.
const messages = {
  register: ({ id, name }) => [link(`/agents/${encodeURIComponent(id)}`, `${name} is registered`)],
  rate: () => ['Thank you, the rating is saved.'],
  call: ({ success, result, error, task, receipt }) => {
    if (receipt) offerRating(receipt);
    const text = result?.text ?? task?.question ?? '';
    return [success ? text || 'It answered without text.' : `It failed: ${error ?? 'no reason was given'}`];
  },
};

function link(href, text) {
  const anchor = document.createElement('a');
  anchor.href = href;
  anchor.textContent = text;
  return anchor;
}

/** A rating needs the receipt of a call. */
function offerRating(receipt) {
  const form = document.querySelector('form[data-kind="rate"]');
  if (!form) return;
  form.elements.receipt.value = receipt;
  form.hidden = false;
}

/** The fields as the API expects them, without empty ones. */
function bodyOf(form) {
  const body = {};
  for (const { name, value, type } of form.elements) {
    if (!name || value === '') continue;
    if (name === 'tags')
      body.tags = value
        .split(',')
        .map((tag) => tag.trim())
        .filter(Boolean);
    else if (name === 'perCall') body.price = { perCall: Number(value) };
    else body[name] = type === 'number' || name === 'rating' ? Number(value) : value;
  }
  return body;
}

async function send(form) {
  const token = document.querySelector('input[data-token]').value.trim();
  const response = await fetch(form.dataset.send, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(form)),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error?.message ?? `The hub answered with status ${response.status}.`);
  return messages[form.dataset.kind](answer);
}

for (const form of document.querySelectorAll('form[data-send]')) {
  const output = form.querySelector('output');
  const button = form.querySelector('button');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
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
