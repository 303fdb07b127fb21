// Checks a form on submit, and from then on while someone types. Sends the form without leaving the page. If the script
// fails, the browser sends the form (reference §4.11). `arrival.js`, `hints.js` and `fill.js` follow in the same script.

/** Matches the characters that the server removes from an address. `forms/invisible-characters.ts` has the same pattern. */
const INVISIBLES =
  /[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}]+/gu;
/** Matches the shape of an address. The server checks domains that are not ASCII more closely. */
const EMAIL =
  /^(?=[^@]{1,64}@)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+|[^\s@]*[^ -~][^\s@]*)$/i;
const SLOW_AFTER_MS = 3_000;
const GIVE_UP_AFTER_MS = 90_000;

const form = document.querySelector('form.form');
const words = form.dataset;
const { lang } = form.closest('[lang]');
const button = form.querySelector('button[type=submit]');
const progress = form.querySelector('.progress');
const submitWords = button.textContent;
const title = document.title.replace(`${words.error} `, '');
/** The checked controls, with one control for each name. For radio buttons it is the first button. */
const controls = [...form.querySelectorAll('[data-maximum], [data-missing]')].filter(
  (control, index, all) => all.findIndex(({ name }) => name === control.name) === index,
);
let checking = form.querySelector('.notice') !== null;
let sending = false;
/** True after a request without an answer of the service. The browser itself then sends the next request. */
let goNatively = false;
let slow;

const fieldOf = (control) => control.closest('.field');
const labelOf = (field) => field.querySelector('legend, label').firstChild.textContent.trim();
const inWords = (count) => count.toLocaleString(lang);
/** Returns a time in words, with the date if it is not today. */
const timeOf = (date) =>
  date.toLocaleString(lang, {
    dateStyle: date.toDateString() === new Date().toDateString() ? undefined : 'long',
    timeStyle: 'short',
  });
/** Returns the length of a text in code points. The server removes invisible characters, so its length may be less. */
const lengthOf = (text) => [...text.trim()].length;
/** Returns an e-mail address as the server reads it. */
const fold = (text) => text.replace(INVISIBLES, '').normalize('NFKC').trim();

function create(name, className, ...content) {
  const element = Object.assign(document.createElement(name), { className });
  element.append(...content);
  return element;
}

/** Returns the fault that keeps a form from being sent, in the page's words, or an empty text. */
function faultOf({ name, type, value, dataset }) {
  const isChoice = type === 'radio' || type === 'checkbox';
  const isEmpty = isChoice ? !form.querySelector(`[name="${name}"]:checked`) : value.trim() === '';
  if (isEmpty) return dataset.missing ?? '';
  return dataset.email && !EMAIL.test(fold(value)) ? dataset.email : '';
}

/** Returns the fault to show at a control. Only the server refuses a text as too long, because its length may be less. */
function shownFaultOf(control) {
  const { value, dataset } = control;
  const tooLong = dataset.email ?? dataset.tooLong?.replace('{count}', inWords(lengthOf(value)));
  return faultOf(control) || (lengthOf(value) > Number(dataset.maximum) ? tooLong : '');
}

/** Marks every control by its fault, and returns the faults. */
function markBy(of) {
  const faults = controls.map((control) => ({ control, fault: of(control) }));
  for (const { control, fault } of faults) mark(control, fault);
  return faults.filter(({ fault }) => fault !== '');
}

/** Shows a fault at its field, or removes the shown fault. */
function mark(control, fault) {
  const field = fieldOf(control);
  const described = control.type === 'radio' ? field : control;
  const id = `field-${control.name}-error`;
  field.querySelector('.error')?.remove();
  field.classList.toggle('wrong', fault !== '');
  const ids = (described.getAttribute('aria-describedby') ?? '').split(' ').filter((each) => each && each !== id);
  if (fault !== '') {
    const error = create('p', 'error', create('span', 'unseen', `${words.error} `), fault);
    error.id = id;
    (control.closest('.choices, .choice') ?? control).before(error);
    ids.push(id);
  }
  if (ids.length === 0) described.removeAttribute('aria-describedby');
  else described.setAttribute('aria-describedby', ids.join(' '));
  if (control.type !== 'radio') control.setAttribute('aria-invalid', String(fault !== ''));
}

/** Shows one of the page's notices above the form and moves the focus into the notice. */
function notify(kind, fill = () => {}) {
  form.querySelector('.notice')?.remove();
  const notice = form.querySelector(`template[data-notice=${kind}]`).content.firstElementChild.cloneNode(true);
  fill(notice);
  form.prepend(notice);
  document.title = notice.matches('.calm') ? title : `${words.error} ${title}`;
  notice.focus();
}

/** Lists faults above the form, with links to their controls. */
function summarize(faults) {
  checking = true;
  notify('summary', (notice) => {
    for (const { control, fault } of faults) {
      const link = create('a', '', fault);
      link.href = `#${control.id}`;
      notice.querySelector('ul').append(create('li', '', link));
    }
  });
}

function setSending(now, label) {
  sending = now;
  clearTimeout(slow);
  progress.textContent = '';
  button.textContent = label;
  button.setAttribute('aria-disabled', String(now));
  form.setAttribute('aria-busy', String(now));
  if (!now) return;
  slow = setTimeout(() => progress.append(words.slow), SLOW_AFTER_MS);
  // The notice about the last attempt does not apply to this attempt.
  form.querySelector('.notice')?.remove();
  document.title = title;
}

/** Returns the typed values, each with the label of its field. */
function typed() {
  const answers = '[type=radio]:checked, input:not([type=radio], [type=checkbox]), textarea';
  return [...form.querySelectorAll('.field')].flatMap((field) => {
    const value = field.querySelector(answers)?.value.trim() ?? '';
    return value === '' ? [] : [[labelOf(field), value]];
  });
}

/** Returns the short reference (§12.14) of an answer, or '' if it has none: the last 40 bits of the id in its header. */
function referenceIn(headers) {
  const id = headers.get('submission-reference');
  if (id === null) return '';
  const digits = Number.parseInt(id.slice(-10), 16).toString(32).padStart(8, '0');
  const code = digits.replace(/./g, (digit) => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'[Number.parseInt(digit, 32)]);
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

function post() {
  return fetch(form.getAttribute('action'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(Object.fromEntries(new FormData(form))),
    signal: AbortSignal.timeout(GIVE_UP_AFTER_MS),
  });
}

/** Waits for the answer to a sent request. After a success, the next page opens even if this script fails. */
async function follow(request) {
  let isAccepted = false;
  try {
    const response = await request;
    // A redirect may come from a network's sign-in page, so it is no success.
    isAccepted = response.ok && !response.redirected;
    goNatively = !/^application\/json\b/.test(response.headers.get('content-type'));
    // The body is read to its end first, because opening the next page would abort the reading.
    const body = await response.json().catch(() => ({}));
    if (isAccepted) remember(response);
    else refuse(response, body);
  } catch {
    if (!isAccepted) {
      goNatively = true;
      setSending(false, words.sendAgain);
      notify(navigator.onLine ? 'broken' : 'offline');
    }
  }
  if (isAccepted) location.assign(words.thankYou);
}

/** Remembers a success for the next page (`sent.js`), and for a person who comes back to this filled-in form. */
function remember({ headers }) {
  const sentAt = Date.now();
  history.replaceState({ sentAt }, '');
  // Only this tab can read the storage, and the next page removes the entry.
  sessionStorage.setItem('sent', JSON.stringify({ sentAt, reference: referenceIn(headers), values: typed() }));
}

/** Replaces the form by the server's page about a stored submission. */
function showStored({ content: page }, headers) {
  for (const code of page.querySelectorAll('.reference code')) code.textContent = referenceIn(headers);
  document.title = page.querySelector('h1').textContent;
  document.querySelector('main').replaceChildren(page);
  document.querySelector('.developers').remove();
  document.querySelector('h1').focus();
  history.replaceState({ sentAt: Date.now() }, '');
}

function refuse({ status, headers }, body) {
  if (status === 400 || status === 413) {
    setSending(false, submitWords);
    const faults = faultsIn(body);
    return faults.length > 0 ? summarize(faults) : notify('refused');
  }
  const stored = ['kept', 'left'].find((kind) => body.error === words[kind]);
  if (stored !== undefined) return showStored(form.querySelector(`template[data-page=${stored}]`), headers);
  setSending(false, words.sendAgain);
  if (status === 503) return notify('unavailable');
  if (status !== 429) return notify(body.error === words.unsent ? 'unsent' : 'unconfirmed');
  const minutes = Math.ceil((Number(headers.get('retry-after')) || 60) / 60);
  const until = timeOf(new Date(Date.now() + minutes * 60_000));
  const wait = minutes.toLocaleString(lang, { style: 'unit', unit: 'minute', unitDisplay: 'long' });
  notify('limited', (notice) => {
    const text = notice.querySelector('p');
    text.textContent = text.textContent.replace('{wait}', `${wait} (${until})`);
  });
}

/** Returns the faults in the server's answer, in the page's words. The answer is English and names no labels. */
function faultsIn({ error = '', fields = [] }) {
  const sentences = error.split(/(?<=\.) /);
  return markBy((control) => {
    const { name, dataset } = control;
    const isMissing = fields.includes(name);
    if (!isMissing && !sentences.some((each) => each.startsWith(`${name} `))) return '';
    const known = isMissing ? dataset.missing : shownFaultOf(control) || dataset.email;
    return known ?? dataset.characters ?? dataset.missing;
  });
}

form.noValidate = true;
/** The browser itself submits the form, unless the script has shown a fault or sent its own request. */
form.addEventListener('submit', (event) => {
  if (sending) return event.preventDefault();
  try {
    if (markBy(faultOf).length > 0) summarize(markBy(shownFaultOf));
    else if (goNatively) return;
    else {
      setSending(true, words.sending);
      follow(post());
    }
    event.preventDefault();
  } catch {
    sending = false; // the script failed before it sent a request
  }
});

/** Checks an invalid field after every key, and every other field when the person leaves it. */
for (const type of ['input', 'change']) {
  form.addEventListener(type, ({ target }) => {
    const control = controls.find(({ name }) => name === target.name);
    if (!checking || !control) return;
    if (type === 'change' || fieldOf(control).matches('.wrong')) mark(control, shownFaultOf(control));
  });
}
