// Reruns: what one would keep of an execution, and its start.

import { h, wordsOf } from './dom.js';
import { ask, field, jsonOf, tell } from './forms.js';
import { post } from './server.js';

/** What only a person can know to do no harm. */
const ACCEPTABLE = ['phases', 'execution_id', 'signals'];

/** Tasks in a line each. @param {string} title @param {any[]} rows */
function tasks(title, rows) {
  const lines = rows.map((row) => h('li', null, row.step, row.runs > 1 ? ` × ${row.runs}` : '', row.effects ? h('small', null, ' with effects') : null));
  return [h('h3', null, title), lines.length ? h('ul', null, lines) : h('p', { class: 'hint' }, 'Nothing.')];
}

/** Show what a rerun keeps and what runs again, and ask whether to start it. @param {string} id @param {string} [step] empty for where it failed */
export async function rerun(id, step = '') {
  const place = `executions/${encodeURIComponent(id)}/rerun`;
  /** @type {any} */
  let found;
  try {
    found = await post(place, { from: step, dry_run: true });
  } catch (error) {
    tell(wordsOf(error), 'bad');
    return;
  }
  const payload = h('textarea', { rows: 5, spellcheck: false });
  const boxes = found.hindrances.map((/** @type {any} */ one) => h('input', { type: 'checkbox', value: one.code, disabled: !ACCEPTABLE.includes(one.code) }));
  const hindrances = found.hindrances.map((/** @type {any} */ one, /** @type {number} */ at) => h('label', { class: 'problem' }, boxes[at], ` ${one.message}${one.instead ? `: ${one.instead}` : ''}`));
  const key = Array.from(crypto.getRandomValues(new Uint32Array(4)), (one) => one.toString(16)).join('-');
  ask(step ? `Start again from ${step}` : 'Go on from where it failed', [
    h('p', { class: 'hint' }, 'A new execution keeps the results of what ran before; this one stays as it is.'),
    tasks('Kept', found.kept), tasks('Runs again', found.again),
    found.signals.length ? h('p', { class: 'hint' }, `Signals that it is to be sent again: ${found.signals.join(', ')}`) : null,
    hindrances.length ? [h('h3', null, 'In the way; tick what you know to do no harm'), hindrances] : null,
    field('Other values (JSON)', payload, 'Over those that it was started with; empty changes none.'),
  ], 'Start', async () => {
    const accept = boxes.filter((/** @type {HTMLInputElement} */ box) => box.checked).map((/** @type {HTMLInputElement} */ box) => box.value);
    const body = { from: step, payload: jsonOf(payload.value, 'What is there') || {}, accept };
    const begun = await post(place, body, { 'Idempotency-Key': key });
    location.hash = `#/executions/${encodeURIComponent(begun.execution_id)}`;
  });
}
