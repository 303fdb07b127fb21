// Removes tables and commands that do not scroll sideways from the tab order. Without this script the Tab key stops at
// all of them, so that a keyboard reaches everything.

const names = ['role', 'aria-labelledby', 'aria-label', 'tabindex'];
const scrollers = [...document.querySelectorAll('.scroll, pre')];
const given = new Map(scrollers.map((each) => [each, names.map((name) => [name, each.getAttribute(name)])]));

function look({ target }) {
  const scrolls = target.scrollWidth > target.clientWidth;
  for (const [name, value] of given.get(target)) {
    if (scrolls && value !== null) target.setAttribute(name, value);
    else target.removeAttribute(name);
  }
}

const sizes = new ResizeObserver((entries) => entries.forEach(look));
for (const each of scrollers) sizes.observe(each);
