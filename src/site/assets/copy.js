// Adds a button to each block of code that copies the code. Choosing the tab of a language chooses this language in
// every example of the page.

const status = document.createElement('p');
status.className = 'unseen';
status.setAttribute('role', 'status');
document.body.append(status);

// Without TLS, the browser gives a page no clipboard. Then the script selects the code, and the person copies it.
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return document.execCommand('copy');
  }
}

for (const figure of document.querySelectorAll('.code')) {
  const words = figure.closest('.example').dataset;
  const [button, label, name] = ['button', 'span', 'span'].map((each) => document.createElement(each));
  button.type = 'button';
  button.className = 'copy';
  label.textContent = words.copy;
  name.className = 'unseen';
  name.textContent = ` ${figure.querySelector('figcaption').textContent}`;
  button.append(label, name);
  let timer;
  button.addEventListener('click', async () => {
    const copied = await copy(figure.querySelector('code'));
    status.textContent = copied ? words.copied : words.notCopied;
    label.textContent = copied ? words.copied : words.copy;
    clearTimeout(timer);
    timer = setTimeout(() => {
      label.textContent = words.copy;
      status.textContent = '';
    }, 4000);
  });
  figure.querySelector('figcaption').after(button);
}

for (const tab of document.querySelectorAll('.tab input')) {
  tab.addEventListener('change', () => {
    const before = tab.getBoundingClientRect().top;
    for (const other of document.querySelectorAll('.tab input')) {
      if (other.value === tab.value) other.checked = true;
    }
    // Examples above may have become longer or shorter. Scrolling keeps the clicked tab at its place in the window.
    scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: 'instant' });
  });
}
