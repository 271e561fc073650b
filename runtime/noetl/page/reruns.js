// Reruns: what one would keep of an execution, with which version of its playbook, and its start.

import { h, prose, show, wordsOf } from './dom.js';
import { ask, field, jsonOf, tell } from './forms.js';
import { get, post } from './server.js';
import { keys, versionsOf } from './starting.js';

/** What only a person can know to do no harm. @type {Record<string, string>} */
const ACCEPTABLE = {
  phases: 'I have looked at what those phases did: it does no harm that they may do it again',
  execution_id: 'It does no harm that it has the id of the other execution',
  signals: 'These data came from elsewhere, and hold in the new execution, too',
};

/** Tasks in a line each. @param {string} title @param {any[]} rows */
function tasks(title, rows) {
  const lines = rows.map((row) => h('li', null, row.step, row.runs > 1 ? ` × ${row.runs}` : '', row.effects ? h('small', null, ' with effects') : null));
  return [h('h3', null, title), lines.length ? h('ul', null, lines) : h('p', { class: 'hint' }, 'Nothing.')];
}

/** Show what a rerun keeps and what runs again, and ask whether to start it. @param {string} id @param {string} [step] empty for where it failed */
export async function rerun(id, step = '') {
  const place = `executions/${encodeURIComponent(id)}`;
  const plan = h('div', { class: 'parts inner' });
  const payload = h('textarea', { rows: 5, spellcheck: false });
  const key = keys();
  /** @type {Set<string>} */
  const accepted = new Set();
  let digest = '';
  let asked = 0;
  const other = (/** @type {string} */ wanted) => (wanted === digest ? {} : { playbook_id: wanted });

  /** @param {string} wanted digest of a version */
  async function draw(wanted) {
    asked += 1;
    const mine = asked;
    accepted.clear();
    const found = await post(`${place}/rerun`, { from: step, dry_run: true, ...other(wanted) });
    if (mine !== asked) return;
    show(plan, tasks('Kept', found.kept), tasks('Runs again', found.again),
      found.signals.length ? h('p', { class: 'hint' }, `Signals that it is to be sent again: ${found.signals.join(', ')}`) : null,
      found.hindrances.length ? [h('h3', null, 'In the way'), h('ul', { class: 'hindrances' }, found.hindrances.map(hindrance))] : null);
  }

  /** What is in the way, and what can be done about it here. @param {any} one */
  function hindrance(one) {
    const instead = one.instead || '';
    const earlier = /`--from ([^`]+)`/.exec(instead)?.[1];
    const words = ACCEPTABLE[one.code];
    const box = words && h('input', { type: 'checkbox', onchange: () => (box.checked ? accepted.add(one.code) : accepted.delete(one.code)) });
    return h('li', { class: 'problem' }, h('span', null, prose(one.message)),
      // Options of the command line are told there; here are controls.
      words ? h('label', null, box, ` ${words}`) : null, instead && !/`(--|noetl )/.test(instead) ? h('span', null, prose(`${instead[0].toUpperCase()}${instead.slice(1)}.`)) : null,
      earlier ? h('button', { type: 'button', onclick: () => {
        dialog.close();
        rerun(id, earlier);
      } }, `Begin at ${earlier}…`) : null);
  }

  /** @type {any} */
  let dialog;
  try {
    const row = await get(`${place}/row`);
    digest = row.plan_digest;
    const { choice, newer } = await versionsOf(row.playbook, digest, (wanted) => {
      draw(wanted).catch((error) => show(plan, h('p', { class: 'problem', role: 'alert' }, prose(wordsOf(error)))));
    });
    await draw(digest);
    dialog = ask(step ? `Start again from ${step}` : 'Go on from where it failed', [
      h('p', { class: 'hint' }, 'A new execution keeps the results of what ran before; this one stays as it is.'),
      field('Version', choice, newer), plan,
      field('Other values (JSON)', payload, 'Over those that it was started with; empty changes none.'),
    ], 'Start', async () => {
      const body = { from: step, payload: jsonOf(payload.value, 'What is there') || {}, accept: [...accepted], ...other(choice.value) };
      const begun = await post(`${place}/rerun`, body, { 'Idempotency-Key': key(body) });
      location.hash = `#/executions/${encodeURIComponent(begun.execution_id)}`;
    });
  } catch (error) {
    tell(wordsOf(error), 'bad');
  }
}
