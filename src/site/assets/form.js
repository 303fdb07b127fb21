// What a form gains where scripts run: checks on submit and from then on while typing, and sending
// without leaving the page; `hints.js` follows in the same script. Words and bounds stand in the page.
// Without them everything is sent, and answered, natively.

/** What the server removes before it looks at anything (`forms/fields.ts` has the same). */
const HIDDEN =
  /((?:[^\p{Mn}\p{Me}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}][\u180B-\u180D\u180F\uFE00-\uFE0F]|\p{Script=Han}[\u{E0100}-\u{E01EF}]){1,1000})|[\u200B\u202A-\u202E\u2060-\u206F\uFEFF\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}\p{Variation_Selector}]+/gu;
/** The shape alone; the server knows more of domains that are not ASCII. */
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
/** One of each name: of radio buttons the first. */
const controls = [...form.querySelectorAll('[data-maximum], [data-missing]')].filter(
  (control, index, all) => all.findIndex(({ name }) => name === control.name) === index,
);
let checking = form.querySelector('.notice') !== null;
let sending = false;
let slow;

const fieldOf = (control) => control.closest('.field');
const labelOf = (field) => field.querySelector('legend, label').firstChild.textContent.trim();
const inWords = (count) => count.toLocaleString(lang);
/** The day is said where it is another one. */
const timeOf = (date) =>
  date.toLocaleString(lang, {
    dateStyle: date.toDateString() === new Date().toDateString() ? undefined : 'long',
    timeStyle: 'short',
  });
const normalize = (text) => text.replace(HIDDEN, '$1').replace(/\r\n?/g, '\n').trim();
/** Code points, as the server counts them. */
const lengthOf = (text) => [...normalize(text)].length;

function create(name, className, ...content) {
  const element = document.createElement(name);
  element.className = className;
  element.append(...content);
  return element;
}

/** What is wrong with a control, in the page's words; empty where nothing is. */
function faultOf({ name, type, value, dataset }) {
  if (type === 'radio' || type === 'checkbox') {
    return form.querySelector(`[name="${name}"]:checked`) ? '' : (dataset.missing ?? '');
  }
  const length = lengthOf(value);
  if (length === 0) return dataset.missing ?? '';
  const isTooLong = length > Number(dataset.maximum);
  if (dataset.email) return isTooLong || !EMAIL.test(normalize(value)) ? dataset.email : '';
  return isTooLong ? dataset.tooLong.replace('{count}', inWords(length)) : '';
}

/** Says a fault at its field, or takes it away. */
function mark(control, fault) {
  const field = fieldOf(control);
  const described = control.type === 'radio' ? field : control;
  const id = `field-${control.name}-error`;
  field.querySelector('.error')?.remove();
  field.classList.toggle('wrong', fault !== '');
  const ids = (described.getAttribute('aria-describedby') ?? '')
    .split(' ')
    .filter((each) => each !== id);
  if (fault !== '') {
    const error = create('p', 'error', create('span', 'unseen', `${words.error} `), fault);
    error.id = id;
    (control.closest('.choices, .choice') ?? control).before(error);
    ids.push(id);
  }
  const all = ids.join(' ').trim();
  if (all === '') described.removeAttribute('aria-describedby');
  else described.setAttribute('aria-describedby', all);
  if (control.type !== 'radio') control.setAttribute('aria-invalid', String(fault !== ''));
}

/** Puts one of the page's notices on top, and the focus into it. */
function notify(kind, fill = () => {}) {
  form.querySelector('.notice')?.remove();
  const notice = form
    .querySelector(`template[data-notice=${kind}]`)
    .content.firstElementChild.cloneNode(true);
  fill(notice);
  form.prepend(notice);
  document.title = kind === 'sent' ? title : `${words.error} ${title}`;
  notice.focus();
}

/** Lists faults on top, with links to their controls. */
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
  // What was said of the last try is not true of this one.
  form.querySelector('.notice')?.remove();
  document.title = title;
}

/** What was typed, by the label of its field. */
function typed() {
  const answers = '[type=radio]:checked, input:not([type=radio], [type=checkbox]), textarea';
  return [...form.querySelectorAll('.field')].flatMap((field) => {
    const value = normalize(field.querySelector(answers)?.value ?? '');
    return value === '' ? [] : [[labelOf(field), value]];
  });
}

/** For the next page of this tab alone, which takes it out again (`sent.js`). */
function leave(sent) {
  try {
    sessionStorage.setItem('sent', JSON.stringify(sent));
  } catch {
    // Where nothing may be stored, that page says less.
  }
}

async function send() {
  if (!navigator.onLine) {
    setSending(false, words.sendAgain);
    return notify('offline');
  }
  setSending(true, words.sending);
  try {
    const response = await fetch(form.getAttribute('action'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(Object.fromEntries(new FormData(form))),
      signal: AbortSignal.timeout(GIVE_UP_AFTER_MS),
    });
    // Read to its end first: going on to the next page would break it off.
    const body = await response.json().catch(() => ({}));
    // A hotel's sign-in page is a 200, too.
    if (!response.ok || !body.ok) return refuse(response, body);
    // Whoever comes back finds the form filled in, and would send it a second time.
    const sentAt = Date.now();
    history.replaceState({ sentAt }, '');
    leave({ sentAt, reference: response.headers.get('submission-reference'), values: typed() });
    location.assign(words.thankYou);
  } catch {
    setSending(false, words.sendAgain);
    notify('broken');
  }
}

function refuse({ status, headers }, body) {
  if (status === 400 || status === 413) {
    setSending(false, submitWords);
    const faults = faultsIn(body);
    return faults.length > 0 ? summarize(faults) : notify('refused');
  }
  const kept = ['kept', 'left'].find((kind) => body.error === words[kind]);
  if (kept !== undefined) {
    setSending(false, submitWords);
    return notify(kept, (notice) => {
      const reference = notice.querySelector('.reference');
      const code = reference.querySelector('code');
      code.textContent = headers.get('submission-reference') ?? '';
      reference.hidden = code.textContent === '';
    });
  }
  setSending(false, words.sendAgain);
  if (status === 503) return notify('unavailable');
  if (status !== 429) return notify(body.error === words.unsent ? 'unsent' : 'unconfirmed');
  const minutes = Math.ceil((Number(headers.get('retry-after')) || 60) / 60);
  const until = timeOf(new Date(Date.now() + minutes * 60_000));
  const wait = new Intl.NumberFormat(lang, {
    style: 'unit',
    unit: 'minute',
    unitDisplay: 'long',
  }).format(minutes);
  notify('limited', (notice) => {
    const text = notice.querySelector('p');
    text.textContent = text.textContent.replace('{wait}', `${wait} (${until})`);
  });
}

/** The server names fields in its sentences, in English; people know them by their labels, in the page's words. */
function faultsIn({ error = '', fields = [] }) {
  const sentences = error.split(/(?<=\.) /);
  const faults = controls.flatMap((control) => {
    const { name, dataset } = control;
    const isMissing = fields.includes(name);
    if (!isMissing && !sentences.some((each) => each.startsWith(`${name} `))) return [];
    const known = isMissing ? dataset.missing : faultOf(control) || dataset.email;
    return [{ control, fault: known ?? dataset.characters ?? dataset.missing }];
  });
  for (const { control, fault } of faults) mark(control, fault);
  return faults;
}

form.noValidate = true;
form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (sending) return;
  const faults = controls.map((control) => ({ control, fault: faultOf(control) }));
  for (const { control, fault } of faults) mark(control, fault);
  const wrong = faults.filter(({ fault }) => fault !== '');
  if (wrong.length > 0) summarize(wrong);
  else send();
});

/** A field that is wrong is looked at with every key, the others when they are left. */
for (const type of ['input', 'change']) {
  form.addEventListener(type, ({ target }) => {
    const control = controls.find(({ name }) => name === target.name);
    if (!checking || !control) return;
    if (type === 'change' || fieldOf(control).matches('.wrong')) mark(control, faultOf(control));
  });
}

/** A page that comes back, from the browser's memory or anew, is no longer sending and may be sent already. */
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) setSending(false, submitWords);
  const { sentAt } = history.state ?? {};
  if (sentAt === undefined) return;
  setSending(false, words.sendAgain);
  notify('sent', (notice) => {
    const text = notice.querySelector('p');
    text.textContent = text.textContent.replace('{time}', timeOf(new Date(sentAt)));
  });
});
