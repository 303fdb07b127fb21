// What the page that thanks says more where scripts run: when it was sent, under which reference, and what was
// typed, to print. `form.js` leaves that in the storage of this tab, from where it is taken out at once.

const KEY = 'sent';
const panel = document.querySelector('.success');
const copy = document.querySelector('.typed');
const { lang } = document.documentElement;

/** What `form.js` left, once; what anything else left there is nothing. */
function takeOut() {
  try {
    const left = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    return JSON.parse(left) ?? undefined;
  } catch {
    return undefined;
  }
}

function say({ sentAt, reference }) {
  const at = new Date(sentAt);
  const isToday = at.toDateString() === new Date().toDateString();
  const time = at.toLocaleString(lang, {
    dateStyle: isToday ? undefined : 'long',
    timeStyle: 'short',
  });
  const line = panel.querySelector('.at');
  line.textContent = panel.dataset.at.replace('{time}', time);
  line.hidden = false;
  if (!reference) return;
  panel.querySelector('.reference code').textContent = reference;
  panel.querySelector('.reference').hidden = false;
}

function show(values) {
  for (const [label, value] of values) {
    const [term, text, pair] = ['dt', 'dd', 'div'].map((name) => document.createElement(name));
    term.textContent = label;
    const typed = document.createElement('bdi');
    typed.textContent = value;
    text.append(typed);
    pair.append(term, text);
    copy.querySelector('dl').append(pair);
  }
  copy.querySelector('button').addEventListener('click', () => print());
  copy.hidden = false;
}

const taken = takeOut();
if (taken?.values?.length) show(taken.values);
// Of what was typed nothing stays: a reload still says when, and under which reference.
if (taken) history.replaceState({ sentAt: taken.sentAt, reference: taken.reference }, '');
if (history.state?.sentAt) say(history.state);
