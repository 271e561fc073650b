// Dialogs: what a person is asked before something is changed.

import { h, show, sign, wordsOf } from './dom.js';
import { jsonValue } from './numbers.js';

let last = 0;

/**
 * A dialog with a form. `act` is called when it is sent, and its error is shown; what it gives closes the dialog.
 * @param {string} title @param {any[]} parts @param {string} verb @param {() => Promise<void>} act @param {string} [kind]
 */
export function ask(title, parts, verb, act, kind = 'primary') {
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const go = h('button', { class: kind, type: 'submit' }, verb);
  const leave = h('button', { type: 'button', onclick: () => dialog.close() }, 'Close');
  const name = `dialog${(last += 1)}`;
  const dialog = h('dialog', { 'aria-labelledby': name },
    h('form', {
      method: 'dialog',
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        go.disabled = true;
        try {
          await act();
          dialog.close();
        } catch (error) {
          problem.hidden = false;
          show(problem, wordsOf(error));
        }
        go.disabled = false;
      },
    },
    h('header', null, h('h2', { id: name }, title), h('button', { type: 'button', class: 'bare', 'aria-label': 'Close', onclick: () => dialog.close() }, sign('close'))),
    h('div', { class: 'parts' }, parts, problem),
    h('footer', null, leave, go)));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  // By itself it would begin at what closes it. What harms is not one key away.
  const first = dialog.querySelector('.parts :is(input, select, textarea):not(:disabled)') || (kind === 'danger' ? leave : go);
  first.focus();
  return dialog;
}

/** A field with its label. @param {string} label @param {HTMLElement} input @param {string} [hint] */
export function field(label, input, hint) {
  const name = `field${(last += 1)}`;
  input.id = name;
  if (hint) input.setAttribute('aria-describedby', `${name}h`);
  return h('div', { class: 'field' }, h('label', { for: name }, label), input, hint && h('small', { id: `${name}h` }, hint));
}

/** The JSON in a field, undefined where it is empty. Throws what is wrong with it. @param {string} text @param {string} what */
export function jsonOf(text, what) {
  if (!text.trim()) return undefined;
  try {
    return jsonValue(text);
  } catch (error) {
    throw new Error(`${what} is no JSON: ${wordsOf(error)}`, { cause: error });
  }
}

/** Say something for a few seconds, also to who hears the page. @param {string} text @param {string} [kind] */
export function tell(text, kind = '') {
  const place = document.getElementById('said');
  const note = h('p', { class: kind }, text);
  place?.append(note);
  setTimeout(() => note.remove(), 6000);
}
