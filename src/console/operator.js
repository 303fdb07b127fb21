// Shows how many leads came since the list was loaded.

const EVERY_MS = 30_000;

const link = document.querySelector('[data-count]');
if (link) {
  const count = async () => {
    if (document.visibilityState !== 'visible') return;
    const answer = await fetch(link.dataset.count, { redirect: 'error' }).catch(() => undefined);
    if (!answer?.ok) return;
    const { count } = await answer.json();
    link.hidden = count === 0;
    link.textContent = `${count} new ${count === 1 ? 'lead' : 'leads'}`;
  };
  setInterval(count, EVERY_MS);
  document.addEventListener('visibilitychange', count);
}
