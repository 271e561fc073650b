// The mailbox: signals that are kept under a key, and the executions that wait under one.

import { execution, h, show, trouble } from './dom.js';
import { leave, stand } from './lists.js';
import { get } from './server.js';
import { ago, many, millis, moment } from './times.js';

const LOOK_EVERY = 2000;
const ROWS = 100;

/** @param {URLSearchParams} query @returns {import('./app.js').View} */
export function signalsView(query) {
  const closing = new AbortController();
  const search = h('input', { type: 'search', placeholder: 'Keys that begin so  ( / )', 'aria-label': 'Search by the beginning of a key', autocomplete: 'off', maxLength: 500, value: query.get('prefix') || '' });
  const list = h('ul', { class: 'catalogue mail' });
  const element = h('section', null, h('h1', null, 'Signals'), h('p', { class: 'hint' }, 'Sent to a key: kept until an execution waits under it, or their time is over.'), h('div', { class: 'filters' }, search), list);
  let shown = '';

  async function look() {
    if (document.hidden) return;
    const prefix = search.value;
    try {
      const found = await get('signals', { prefix, limit: ROWS }, closing.signal);
      const text = JSON.stringify(found) + Math.floor(Date.now() / 60000);
      if (text === shown || prefix !== search.value) return;
      shown = text;
      show(list, found.signals.map(row), found.next === null ? null : h('li', { class: 'hint' }, 'There are more: search for a key.'),
        found.signals.length ? null : h('li', { class: 'empty' }, prefix ? 'No key begins so.' : 'No signal is kept, and nobody waits under a key.'));
    } catch (error) {
      if (closing.signal.aborted) return;
      shown = '';
      show(list, trouble(error));
    }
  }

  search.addEventListener('input', () => {
    stand('signals', new URLSearchParams(search.value ? { prefix: search.value } : {}));
    look();
  });
  leave('signals', query);
  look();
  const looking = setInterval(look, LOOK_EVERY);
  return {
    element,
    title: 'Signals',
    close: () => {
      clearInterval(looking);
      closing.abort();
    },
  };
}

/** @param {any} found */
function row(found) {
  const waits = found.waits.slice(0, 3).map((/** @type {string} */ id) => [' ', execution(id)]);
  const kept = [
    h('span', null, `${many(found.kept, 'signal')} kept`),
    found.since ? h('small', { title: moment(millis(found.since)) }, `since ${ago(millis(found.since))}`) : null,
    h('small', null, `until ${moment(millis(found.until))}`),
  ];
  return h('li', null, h('strong', null, found.key), h('span', { class: 'dim' }, found.name), found.kept ? kept : null,
    found.waiting ? h('span', null, `${many(found.waiting, 'wait')}:`, waits, found.waiting > waits.length ? ` and ${found.waiting - waits.length} more` : null) : null);
}
