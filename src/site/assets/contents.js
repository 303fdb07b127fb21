// Marks the part that the person reads in the list of contents at the side. The links of the list also work without
// this script.

const entries = new Map(
  [...document.querySelectorAll('.contents > div a')].map((link) => [
    document.getElementById(decodeURIComponent(link.hash.slice(1))),
    link,
  ]),
);
const parts = [...entries.keys()].filter((part) => part !== null);
let current;

function mark() {
  // The person reads the last part that begins in the upper third of the window or above it.
  const line = innerHeight / 3;
  const read = parts.findLast((part) => part.getBoundingClientRect().top < line);
  const link = entries.get(read);
  if (link === current) return;
  current?.removeAttribute('aria-current');
  current = link;
  link?.setAttribute('aria-current', 'true');
  const side = link?.closest('.contents');
  if (side === undefined || side === null || side.scrollHeight <= side.clientHeight) return;
  const [inner, outer] = [link.getBoundingClientRect(), side.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) {
    side.scrollTop += inner.top - outer.top - outer.height / 3;
  }
}

if (parts.length > 0) {
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      mark();
    });
  };
  addEventListener('scroll', later, { passive: true });
  addEventListener('resize', later);
  mark();
}
