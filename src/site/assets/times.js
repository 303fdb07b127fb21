// Adds the exact time in the visitor's time zone to each relative time of a confirmation page.

const { lang } = document.documentElement;

for (const element of document.querySelectorAll('time[data-exact]')) {
  const at = new Date(element.dateTime);
  const isToday = at.toDateString() === new Date().toDateString();
  const time = at.toLocaleString(lang, { dateStyle: isToday ? undefined : 'long', timeStyle: 'short' });
  element.append(` ${element.dataset.exact.replace('{time}', time)}`);
}
