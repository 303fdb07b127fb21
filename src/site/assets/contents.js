// The contents at the side say which part is being read. Without this script they lead there all the same.

const entries = new Map(
  [...document.querySelectorAll('.contents > div a')].map((link) => [
    document.getElementById(decodeURIComponent(link.hash.slice(1))),
    link,
  ]),
);
const parts = [...entries.keys()].filter((part) => part !== null);
let current;

function mark() {
  // The last one that begins above the upper third.
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
