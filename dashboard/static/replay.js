// Steps of a replay by key: fetches the server's own markup of the step and puts it in place.
// Everything here is also a link or a form, so nothing is lost without it.
const box = () => document.getElementById('replay');
const player = document.getElementById('player');
const play = document.getElementById('play');
const speed = document.getElementById('speed');
const keys = document.getElementById('keys');
const ahead = new Map();
let timer = 0;
let turn = 0;

const part = (href) => {
  const url = new URL(href, location.href);
  url.searchParams.set('part', '1');
  return url;
};
const load = (href) => {
  if (!ahead.has(href)) {
    if (ahead.size > 20) ahead.clear();
    ahead.set(href, fetch(part(href)).then((answer) => {
      if (!answer.ok) throw new Error(String(answer.status));
      return answer.text();
    }));
    ahead.get(href).catch(() => ahead.delete(href));
  }
  return ahead.get(href);
};
const target = (key) => box().querySelector(`a[data-key="${CSS.escape(key)}"]`);

async function go(href, {push = false, speak = false} = {}) {
  const mine = ++turn;
  const focused = box().contains(document.activeElement) ? document.activeElement.dataset.key : null;
  let text;
  try {
    text = await load(href);
  } catch {
    location.href = href;
    return;
  }
  if (mine !== turn) return;
  const old = [...box().querySelectorAll('details')].map((item) => item.open);
  const holder = document.createElement('template');
  holder.innerHTML = text;
  const fresh = holder.content.querySelector('#replay');
  box().replaceWith(fresh);
  fresh.querySelectorAll('details').forEach((item, index) => { item.open = old[index] ?? false; });
  if (new URL(href, location.href).pathname === location.pathname) { // elsewhere, as on the big screen, the page stays
    if (push !== null) history[push ? 'pushState' : 'replaceState'](null, '', href);
    document.title = fresh.dataset.title + ' · ' + document.title.split(' · ').pop();
  }
  if (focused) (target(focused) ?? fresh.querySelector('.controls a'))?.focus({preventScroll: true});
  if (speak) document.getElementById('spoken').textContent = fresh.querySelector('.sentence').lastChild.textContent;
  const next = target('ArrowRight');
  if (next) load(next.href).catch(() => {});
}

function stop() {
  clearTimeout(timer);
  timer = 0;
  play.setAttribute('aria-pressed', 'false');
  play.textContent = 'Play';
}
function start() {
  play.setAttribute('aria-pressed', 'true');
  play.textContent = 'Pause';
  const tick = () => {
    const next = target('ArrowRight') ?? target(box().parentElement.dataset.onward ?? '');
    if (!next || document.hidden) return stop();
    timer = setTimeout(async () => { await go(next.href); if (timer) tick(); }, 1000 / Number(speed.value));
  };
  tick();
}
function faster(step) {
  speed.selectedIndex = Math.max(0, Math.min(speed.options.length - 1, speed.selectedIndex + step));
}
async function copy() {
  const button = document.getElementById('copy');
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
  } catch {
    button.insertAdjacentHTML('afterend', '<input readonly aria-label="Link to this step">');
    button.nextElementSibling.value = location.href;
    button.nextElementSibling.select();
    button.disabled = true;
  }
}

const own = {
  p: () => (timer ? stop() : start()), '+': () => faster(1), '-': () => faster(-1), c: copy,
  '/': () => document.getElementById('step').focus(), '?': () => { location.href = document.querySelector('#player a').href; },
};
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || !keys.checked) return;
  if (event.target.closest('input, select, textarea')) return;
  if (timer && event.key !== 'p' && event.key !== '+' && event.key !== '-') stop();
  const link = target(event.key);
  const action = link ? () => go(link.href, {speak: true}) : own[event.key];
  if (!action) {
    if (event.key.startsWith('Arrow') || event.key === 'Home' || event.key === 'End') event.preventDefault();
    return;
  }
  event.preventDefault();
  action();
});
document.addEventListener('click', (event) => {
  const link = event.target.closest('#replay a');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  if (new URL(link.href).pathname !== location.pathname) return;
  event.preventDefault();
  stop();
  go(link.href, {push: true});
});
document.addEventListener('visibilitychange', () => { if (document.hidden) stop(); });
addEventListener('popstate', () => go(location.href, {push: null}));
play.addEventListener('click', () => (timer ? stop() : start()));
document.getElementById('copy').addEventListener('click', copy);
keys.checked = localStorage.getItem('keys') !== 'off';
keys.addEventListener('change', () => localStorage.setItem('keys', keys.checked ? 'on' : 'off'));
player.hidden = false;
