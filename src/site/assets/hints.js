// What a field says while someone fills it in: how much room is left, and a likely correction of a
// mistyped mail domain; and how a choice is taken back. It refuses nothing; words and bounds stand in the page. Sent behind `form.js` as
// one script, whose names it uses: a page loads no second one.

/** Mail domains that are right as they are; the longer ones are offered to who is one slip away. */
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

/** A radio that is chosen once more is taken back, where no answer is needed. */
function letTakeBack(group) {
  let chosen = group.querySelector(':checked');
  group.addEventListener('click', ({ target }) => {
    if (target.type !== 'radio') return;
    if (target === chosen) target.checked = false;
    chosen = target.checked ? target : undefined;
  });
  group.addEventListener('change', ({ target }) => {
    chosen = target;
  });
  // Not every browser makes a click of it.
  group.addEventListener('keyup', (event) => {
    if (event.key !== ' ' || event.target !== chosen) return;
    event.preventDefault();
    chosen.checked = false;
    chosen = undefined;
  });
}

/** Shows near the bound what is left of it; a screen reader hears it when the typing rests. */
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

/** Offers a likely domain for a mistyped one, and refuses nothing. */
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
  const near = DOMAINS.find(
    (domain) => domain.length >= OFFERED_FROM && isOneSlipAway(written, domain),
  );
  return near ?? (corrected === written ? undefined : corrected);
}

/** One character more, less, other, or two in the wrong order. */
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
