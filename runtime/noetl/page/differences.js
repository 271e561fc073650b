// What changed from one version to another in what they do: the changes that the compiler sees between their nets.

import { h, prose, show, sign, wordsOf } from './dom.js';
import { get } from './server.js';
import { excerpt } from './source.js';
import { many } from './times.js';

/** @typedef {{class: string, sign: string, message: string, span: {line: number, column: number} | null}} Change */

/** What a class of change means. @type {Record<string, [string, string]>} */
const CLASSES = {
  run: ['running', 'what can happen is another'],
  resume: ['failed', 'a run in flight cannot go on with it'],
  data: ['blocked', 'what is computed is another'],
  cosmetic: ['idle', 'names and words; nothing that acts'],
};
const SIGNS = /** @type {Record<string, string>} */ ({ '+': 'new', '-': 'gone', '~': 'changed' });

/**
 * A card with the changes from one version to another.
 * @param {any} row the version that is looked at @param {any} other the one it is compared with
 * @param {any[]} versions @param {(version: string) => void} choose @param {(line: number) => void} go @param {AbortSignal} signal
 */
export function differences(row, other, versions, choose, go, signal) {
  const body = h('div', { class: 'panel' });
  const select = h('select', { 'aria-label': 'Compare with', onchange: () => choose(select.value) },
    h('option', { value: '', selected: !other }, 'no other version'), versions.filter((one) => one !== row).map((one) => h('option', { value: one.version, selected: one === other }, `version ${one.version}`)));
  const element = h('section', { class: 'card' }, h('header', null, h('h2', null, 'What changed in what it does'), h('span', { class: 'dim' }, 'compared with'), h('div', { class: 'version' }, select)), body);
  if (!other) body.hidden = true;
  else {
    show(body, h('p', { class: 'hint' }, 'Comparing…'));
    get(`plans/${row.playbook_id}/differences`, { from: other.playbook_id }, signal).then((found) => show(body, told(found, row, other, go)), (error) => {
      if (!signal.aborted) show(body, h('p', { class: 'problem' }, prose(wordsOf(error))));
    });
  }
  return element;
}

/** @param {{same: boolean, resumable: boolean, changes: Change[], left_out: number}} found @param {any} row @param {any} other @param {(line: number) => void} go */
function told(found, row, other, go) {
  const pair = `version ${other.version} to version ${row.version}`;
  const verdict = found.same ? `From ${pair} nothing that acts is another.` : `From ${pair}: ${many(found.changes.length + found.left_out, 'change')}. ${found.resumable ? 'A run in flight can go on with the plan.' : 'A run in flight may not be able to go on with the plan.'}`;
  return [h('p', null, sign(found.same ? 'done' : found.resumable ? 'blocked' : 'failed'), ' ', verdict),
    h('ul', { class: 'changes' }, found.changes.map((one) => change(one, other, go))), found.left_out ? h('p', { class: 'hint' }, `${many(found.left_out, 'change')} more`) : null];
}

/** @param {Change} one @param {any} other @param {(line: number) => void} go */
function change(one, other, go) {
  const [look, meaning] = CLASSES[one.class] || ['idle', ''];
  const gone = one.sign === '-';
  const at = one.span;
  const place = h('div', { class: 'excerpt', hidden: true });
  // What is gone has its place in the other version only, whose source is not on the page.
  const where = at && h('button', { type: 'button', class: 'bare', 'aria-expanded': gone ? 'false' : null, onclick: () => {
    if (!gone) {
      go(at.line);
      return;
    }
    if (!place.childElementCount) place.append(excerpt(other.playbook_id, at));
    place.hidden = !place.hidden;
    where.setAttribute('aria-expanded', String(!place.hidden));
  } }, gone ? `line ${at.line} of version ${other.version}` : `line ${at.line}`);
  return h('li', null, h('span', { class: `badge ${look}`, title: meaning }, one.class), h('span', { class: `change ${SIGNS[one.sign] || ''}` }, h('small', { class: 'dim' }, SIGNS[one.sign] || one.sign), ' ', prose(one.message)), where, place);
}
