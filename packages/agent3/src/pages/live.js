// Keeps what is marked `data-live` up to date: the address to ask, and which field of the answer is the state.
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
    // a page nobody looks at asks nothing; a hub that is away for a moment is asked again
    if (!document.hidden) refresh(badge).catch(() => {});
  };
  setInterval(tick, EVERY_MS);
  document.addEventListener('visibilitychange', tick);
  tick();
}
