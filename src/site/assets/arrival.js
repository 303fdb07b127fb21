// Handles two ways to arrive at a form: going back to its page, and a link to one of its controls. This file follows
// `form.js` in one script and uses the names of `form.js`.

/** Resets the button when a person comes back to this page, and says when the form was sent, if it was. */
addEventListener('pageshow', ({ persisted }) => {
  if (!form.isConnected) return;
  if (persisted) setSending(false, submitWords);
  const { sentAt } = history.state ?? {};
  if (sentAt === undefined) return;
  setSending(false, words.sendAgain);
  notify('sent', (notice) => {
    const text = notice.querySelector('p');
    text.textContent = text.textContent.replace('{time}', timeOf(new Date(sentAt)));
  });
});

// The server's error summary links to fields, for a person without a script. With the script, a link leads to the control.
for (const link of form.querySelectorAll('.notice a[href^="#"]')) {
  const control = document.getElementById(link.hash.slice(1))?.querySelector('input, textarea');
  if (control) link.hash = control.id;
}

/** In WebKit (2.50) a fragment focuses its control but sets no caret. `focus()` before the jump sets the caret. */
document.addEventListener('click', ({ target }) => {
  const link = target.closest('a[href^="#"]');
  if (link !== null) document.getElementById(link.hash.slice(1))?.focus();
});

// The fragment of the page's own address has focused its control already, so the focus is set again for the caret.
const aimed = document.getElementById(location.hash.slice(1));
aimed?.blur();
aimed?.focus();
