// A table or a command that scrolls sideways is a stop of the Tab key, and a table one with a name. Without
// this script each of them is, whether it scrolls or not: nothing is out of reach of a keyboard then.

const names = ['role', 'aria-labelledby', 'aria-label', 'tabindex'];
const scrollers = [...document.querySelectorAll('.scroll, pre')];
const given = new Map(
  scrollers.map((each) => [each, names.map((name) => [name, each.getAttribute(name)])]),
);

function look({ target }) {
  const scrolls = target.scrollWidth > target.clientWidth;
  for (const [name, value] of given.get(target)) {
    if (scrolls && value !== null) target.setAttribute(name, value);
    else target.removeAttribute(name);
  }
}

const sizes = new ResizeObserver((entries) => entries.forEach(look));
for (const each of scrollers) sizes.observe(each);
