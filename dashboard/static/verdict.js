// Follows a submission: fetches the server's own markup once a second until the verdict is final.
const box = document.getElementById('verdict');
let shown = '';

async function look() {
  try {
    const answer = await fetch(box.dataset.part);
    if (answer.ok) {
      const text = await answer.text();
      if (text !== shown) box.innerHTML = text;  // a screen reader says what is new only
      shown = text;
    }
  } catch { /* the next look tries again */ }
  if (box.querySelector('[data-final]')) location.replace(location.href);
  else setTimeout(look, 1000);
}
setTimeout(look, 1000);
