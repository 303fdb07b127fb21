// Fills in the form from the fragment of the page's address, which no server sees (reference §15.9). This file follows
// `form.js` in one script and uses the names of `form.js`.

/** Matches hidden characters. `$1` puts back a variation selector. `forms/invisible-characters.ts` has both patterns. */
const HIDDEN =
  /((?:[^\p{Mn}\p{Me}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}][\u180B-\u180D\u180F\uFE00-\uFE0F]|\p{Script=Han}[\u{E0100}-\u{E01EF}]){1,1000})|[\u200B\u202A-\u202E\u2060-\u206F\uFEFF\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}\p{Variation_Selector}]+/gu;
/** Matches the second and further invisible characters of a run. */
const SURPLUS =
  /[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}](?:(?<=[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}].)(?<!\p{Extended_Pictographic}\uFE0F\u200D(?=\p{Extended_Pictographic}))|(?<=(?:^|[\s\x85])[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}]+[\s\x85]+.))[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}]*/gu;

/** The form's own fields: neither the honeypot, nor a hidden input, nor the box of a consent. */
const fields = form.querySelectorAll('.field :is(input:not([type=checkbox]), textarea)');
const inputs = [...form.querySelectorAll('input, textarea')];
const stateOfForm = () => JSON.stringify(inputs.map(({ value, checked }) => [value, checked]));
/** The form as the service or a fragment filled it in. In any other state, it has something that the person entered. */
let untouched = JSON.stringify(inputs.map(({ defaultValue, defaultChecked }) => [defaultValue, defaultChecked]));

/** Fills in the values of the fragment, then removes the fragment. Leaves any other fragment to the browser. */
function fillIn() {
  // The last value of a repeated name counts.
  const given = new Map(new URLSearchParams(location.hash.slice(1)));
  if (![...fields].some(({ name }) => given.get(name))) return;
  if (sending || stateOfForm() !== untouched) return;
  for (const control of fields) {
    if (control.type === 'radio') choose(control, given.get(control.name));
    else write(control, normalize(given.get(control.name) ?? '', control));
  }
  untouched = stateOfForm();
  history.replaceState(history.state, '', location.pathname + location.search);
  notify('filled');
}

/** Returns a value as the server would store it from this control (reference §2.4). */
function normalize(value, { type, dataset }) {
  const isText = type === 'textarea';
  const isFolded = dataset.folded !== undefined;
  const visible = isFolded ? value.replace(INVISIBLES, '') : value.replace(HIDDEN, '$1').replace(SURPLUS, '');
  const folded = isFolded ? visible.trim().normalize('NFKC') : visible;
  const breaks = isText ? /\r\n|[\r\u2028\u2029\v\f\x85]/g : /\r\n|[\r\u2028\u2029]/g;
  const text = folded.trim().replace(breaks, '\n').trim();
  return isText ? text : text.replaceAll('\t', ' ');
}

function choose(radio, value = '') {
  const wasChecked = radio.checked;
  radio.checked = radio.value === normalize(value, radio);
  if (radio.checked !== wasChecked) announce('change', radio);
}

/** Writes a whole value, and shows a fault if it is over its bound. */
function write(control, value) {
  control.value = control.type === 'textarea' ? value : value.replaceAll('\n', ' ');
  announce('input', control);
  announce('change', control);
  const isOver = lengthOf(control.value) > Number(control.dataset.maximum);
  if (isOver) checking = true;
  if (isOver || fieldOf(control).matches('.wrong')) mark(control, isOver ? shownFaultOf(control) : '');
}

/** Tells the hints (`hints.js`) about a new value. */
function announce(type, control) {
  control.dispatchEvent(new Event(type, { bubbles: true }));
}

// The browser's own assistant can set every control of the form (WebMCP, reference §15.10). But only the person can give
// a consent, and the service drops a form with a filled honeypot.
/** Clears the consent and the honeypot, and normalizes the other values. */
function clean({ toolName }) {
  if (toolName !== form.getAttribute('toolname')) return;
  for (const control of fields) if (control.type !== 'radio') write(control, normalize(control.value, control));
  for (const box of form.querySelectorAll('[type=checkbox]')) box.checked = false;
  form.querySelector('.bot-field input').value = '';
  untouched = stateOfForm();
  notify('filled');
}

document.modelContext?.addEventListener('toolactivated', clean);
addEventListener('hashchange', fillIn);
fillIn();
