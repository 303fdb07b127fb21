// Completes the thank-you page: the time of the submission, its reference, and the typed values to print. `form.js`
// puts these data into the storage of this tab, and this script removes them at once.

const KEY = 'sent';
const panel = document.querySelector('.success');
const copy = document.querySelector('.typed');
const { lang } = document.documentElement;

/** Removes the data of `form.js` from the storage and returns them. Returns undefined if there are no valid data. */
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
const sent = taken ?? history.state;
if (sent?.sentAt) say(sent);
if (taken?.values?.length) show(taken.values);
// The typed values are not stored again. After a reload the page still shows the time and the reference.
if (taken) history.replaceState({ sentAt: taken.sentAt, reference: taken.reference }, '');
