// Helps a person who fills in a field. The script shows how many characters remain, suggests a correction of a mistyped
// mail domain, and lets the person clear a choice. The script refuses nothing. The page contains the words and bounds.
// This file follows `form.js` in one script and uses the names of `form.js`.

/** Correct mail domains. The longer domains are suggested to a person whose domain differs by one typing error. */
const DOMAINS =
  'gmail.com googlemail.com yahoo.com ymail.com hotmail.com outlook.com live.com msn.com icloud.com me.com mac.com aol.com mail.com email.com comcast.net verizon.net att.net sbcglobal.net proton.me protonmail.com gmx.de gmx.net gmx.com web.de t-online.de yahoo.co.uk hotmail.co.uk btinternet.com orange.fr'.split(
    ' ',
  );
const OFFERED_FROM = 8;
const MISTYPED_COM = /\.(con|cmo|ocm|comm|cim|vom|xom)$/;
const COUNT_FROM = 0.9;
const COUNT_SPOKEN_AFTER_MS = 1_000;

for (const control of form.querySelectorAll('[data-left]')) countIn(control);
for (const control of form.querySelectorAll('[data-suggestion]')) suggestFor(control);
for (const group of form.querySelectorAll('fieldset:not(:has([required]))')) letTakeBack(group);

/** Clears a radio button that the person chooses a second time, in a group that requires no answer. */
function letTakeBack(group) {
  let chosen = group.querySelector(':checked');
  group.addEventListener('click', ({ target }) => {
    if (target.type !== 'radio') return;
    if (target === chosen) target.checked = false;
    chosen = target.checked ? target : undefined;
  });
  group.addEventListener('change', ({ target }) => {
    chosen = target.checked ? target : undefined;
  });
  // Not every browser turns the space key into a click.
  group.addEventListener('keyup', (event) => {
    if (event.key !== ' ' || event.target !== chosen) return;
    event.preventDefault();
    chosen.checked = false;
    chosen = undefined;
  });
}

/** Shows the number of remaining characters near the bound. A screen reader reads it when the person pauses. */
function countIn(control) {
  const seen = create('p', 'counter');
  const spoken = create('p', 'unseen');
  seen.setAttribute('aria-hidden', 'true');
  spoken.setAttribute('role', 'status');
  control.after(seen, spoken);
  let rest;
  const count = () => {
    const maximum = Number(control.dataset.maximum);
    const left = maximum - lengthOf(control.value);
    const sentence = left < 0 ? control.dataset.over : control.dataset.left;
    const isNear = left < maximum * (1 - COUNT_FROM);
    seen.textContent = isNear ? sentence.replace('{count}', inWords(Math.abs(left))) : '';
    seen.classList.toggle('over', left < 0);
    clearTimeout(rest);
    rest = setTimeout(() => {
      spoken.textContent = seen.textContent;
    }, COUNT_SPOKEN_AFTER_MS);
  };
  control.addEventListener('input', count);
  count();
}

/** Suggests a likely domain for a mistyped domain. Refuses nothing. */
function suggestFor(control) {
  const offer = create('p', 'suggestion');
  offer.setAttribute('role', 'status');
  control.after(offer);
  control.addEventListener('input', () => offer.replaceChildren());
  control.addEventListener('change', () => {
    const [, local, written = ''] = /^(.+)@([^@]+)$/.exec(control.value.trim()) ?? [];
    const likely = likelyDomain(written.toLowerCase());
    offer.replaceChildren();
    if (!likely) return;
    const accept = create('button', 'link', `${local}@${likely}`);
    accept.type = 'button';
    accept.addEventListener('click', () => {
      control.value = accept.textContent;
      control.focus();
      control.dispatchEvent(new Event('change', { bubbles: true }));
    });
    const [before, after] = control.dataset.suggestion.split('{address}');
    offer.append(before, accept, after);
  });
}

function likelyDomain(written) {
  if (DOMAINS.includes(written)) return undefined;
  const corrected = written.replace(MISTYPED_COM, '.com');
  if (DOMAINS.includes(corrected)) return corrected;
  const near = DOMAINS.find((domain) => domain.length >= OFFERED_FROM && isOneSlipAway(written, domain));
  return near ?? (corrected === written ? undefined : corrected);
}

/** Returns true if one character is missing, added or different, or two neighbouring characters are swapped. */
function isOneSlipAway(written, meant) {
  let same = 0;
  while (same < meant.length && written[same] === meant[same]) same += 1;
  const [was, is] = [written.slice(same), meant.slice(same)];
  return (
    was.slice(1) === is ||
    was === is.slice(1) ||
    was.slice(1) === is.slice(1) ||
    (was.slice(0, 2) === is[1] + is[0] && was.slice(2) === is.slice(2))
  );
}
