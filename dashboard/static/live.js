// Follows a tournament: counters ride in the events; everything else is fetched again as the server's own markup.
const box = document.getElementById('stream');
const lost = document.getElementById('lost');
const spoken = document.getElementById('spoken');
let source = null;
let last = box.dataset.after;
let due = 0;
let lostTimer = 0;
let news = 0;

const seen = (event) => { if (event.lastEventId) last = event.lastEventId; };
async function refresh() {
  due = 0;
  try {
    const answer = await fetch(box.dataset.part);
    if (!answer.ok) return;
    const holder = document.createElement('template');
    holder.innerHTML = await answer.text();
    const fresh = holder.content.querySelector(`#${box.dataset.target}`);
    if (fresh) document.getElementById(box.dataset.target).replaceWith(fresh);
  } catch { /* the next event tries again */ }
}
const soon = () => { due ||= setTimeout(refresh, 1000); };

function open() {
  const url = new URL(box.dataset.events, location.href);
  url.searchParams.set('after', last);
  source = new EventSource(url);
  source.onopen = () => { clearTimeout(lostTimer); lostTimer = 0; lost.hidden = true; };
  source.onerror = () => { lostTimer ||= setTimeout(() => { lost.hidden = false; }, 5000); };
  source.addEventListener('progress', (event) => {
    seen(event);
    const counts = JSON.parse(event.data);
    for (const item of document.querySelectorAll('[data-count]')) {
      item.textContent = counts[item.dataset.count].toLocaleString('en').replaceAll(',', '\u202f');
    }
    for (const bar of document.querySelectorAll('#stream progress')) {
      bar.max = counts.planned || 1;
      bar.value = counts.finished;
    }
  });
  for (const name of ['result', 'void', 'failed', 'retried', 'state']) {
    source.addEventListener(name, (event) => { seen(event); news += name === 'result'; soon(); });
  }
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    source.close();
  } else {
    open();
    soon();
  }
});
// Age and silence are shown by the server's markup; without events it is asked twice a minute.
setInterval(soon, 30000);
setInterval(() => {
  if (news && spoken) spoken.textContent = `${news} new results`;
  news = 0;
}, 10000);
open();
