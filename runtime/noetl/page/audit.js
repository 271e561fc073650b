// Who did what: the audit of the store, the newest first, for admins.

import { execution, h, show, sign, trouble } from './dom.js';
import { field } from './forms.js';
import { leave, stand } from './lists.js';
import { get } from './server.js';
import { ago, millis, moment } from './times.js';

const ROWS = 100;
const OUTCOMES = ['', 'done', 'asked', 'refused'];
const SIGNS = { done: 'completed', asked: 'waiting', refused: 'failed' };
/** Ids of executions are numbers of so many digits. */
const ID = /^\d{15,20}$/;

/** @param {URLSearchParams} query @returns {import('./app.js').View} */
export function auditView(query) {
  const closing = new AbortController();
  const who = text('who'), deed = text('deed'), subject = text('subject');
  const outcome = h('select', { onchange: changed }, OUTCOMES.map((one) => h('option', { value: one, selected: query.get('outcome') === one }, one || 'any')));
  const since = h('input', { type: 'datetime-local', step: 1, value: query.get('since') || '', oninput: changed });
  const list = h('ul', { class: 'catalogue mail', 'aria-label': 'Deeds' });
  const older = h('button', { type: 'button', hidden: true, onclick: () => look(false) }, 'Older');
  const element = h('section', null, h('h1', null, 'Audit'), h('p', { class: 'hint' }, 'Who did what, the newest first. Rows stay when their executions are purged.'),
    h('form', { class: 'filters', role: 'search', onsubmit: (/** @type {Event} */ event) => event.preventDefault() }, field('Who', who), field('Deed', deed), field('Subject', subject), field('Outcome', outcome), field('Since', since)), list, h('p', null, older));
  let behind = 0;
  let asked = 0;

  /** @param {string} name */
  function text(name) {
    return h('input', { type: 'search', autocomplete: 'off', spellcheck: false, maxLength: 500, value: query.get(name) || '', oninput: changed });
  }

  const filters = () => ({ who: who.value.trim(), deed: deed.value.trim(), subject: subject.value.trim(), outcome: outcome.value, since: since.value });

  /** Rows as the filters are now. @param {boolean} anew from the newest on, else those behind what is shown */
  async function look(anew) {
    const mine = (asked += 1);
    const wanted = filters();
    try {
      // Of a time in the reader's own zone.
      const from = wanted.since && new Date(wanted.since).toISOString();
      const found = await get('audit', { ...wanted, since: from, limit: ROWS, before: anew ? '' : behind }, closing.signal);
      if (mine !== asked) return;
      if (anew) show(list, found.audit.length ? null : h('li', { class: 'empty' }, Object.values(wanted).some(Boolean) ? 'No deed fits.' : 'Nobody has done anything yet.'));
      const rows = found.audit.map(row);
      list.append(...rows);
      behind = found.next || 0;
      older.hidden = found.next === null;
      // Whoever asked for more by the keyboard goes on at the first of it.
      if (!anew && older.hidden && rows.length) rows[0].focus();
    } catch (error) {
      if (closing.signal.aborted || mine !== asked) return;
      show(list, h('li', null, trouble(error)));
      older.hidden = true;
    }
  }

  function changed() {
    stand('audit', new URLSearchParams(Object.entries(filters()).filter(([, value]) => value)));
    look(true);
  }

  leave('audit', query);
  look(true);
  return { element, title: 'Audit', close: () => closing.abort() };
}

/** @param {any} one @returns {HTMLElement} */
function row(one) {
  const mark = SIGNS[/** @type {keyof typeof SIGNS} */ (one.outcome)] || 'failed';
  return h('li', { tabIndex: -1 }, h('small', { title: moment(millis(one.at)) }, `${moment(millis(one.at))} (${ago(millis(one.at))})`), h('strong', null, one.deed),
    h('span', null, one.who, ' ', h('small', null, [one.via, one.address].filter(Boolean).join(', '))), ID.test(one.subject) ? execution(one.subject) : h('span', null, one.subject),
    h('span', { class: `badge ${mark}` }, sign(mark), one.outcome), one.reason ? h('span', { class: 'warn' }, one.reason) : null);
}
