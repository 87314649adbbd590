// Updates elements with `data-live` (the URL to poll) from the field `data-field` of the response.
const EVERY_MS = 10_000;

async function refresh(badge) {
  const response = await fetch(badge.dataset.live, { headers: { accept: 'application/json' } });
  const answer = await response.json();
  const state = answer[badge.dataset.field];
  if (typeof state !== 'string' || badge.dataset.state === state) return;
  badge.classList.replace(badge.dataset.state, state);
  badge.dataset.state = state;
  badge.textContent = state;
}

for (const badge of document.querySelectorAll('[data-live]')) {
  const tick = () => {
    // hidden pages do not poll; errors are ignored until the next poll
    if (!document.hidden) refresh(badge).catch(() => {});
  };
  setInterval(tick, EVERY_MS);
  document.addEventListener('visibilitychange', tick);
  tick();
}
