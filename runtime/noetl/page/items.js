// The items of a step's loops, a page at a time: which stand how, what each iteration came to, and all of one on demand.

import { badge, h, say, show, wordsOf } from './dom.js';
import { problem } from './failures.js';
import { jsonText } from './numbers.js';
import { getShown } from './server.js';
import { many, took } from './times.js';

const PAGE = 50;
/** How states of an item are called. @type {Record<string, string>} */
const WORDS = { idle: 'not begun' };

/** @typedef {{number: number, run: string, index: number[], state: string, attempts: number, began: number | null, ended: number | null, item: string, result: string | null, error: any}} Item */

/** @param {string} id @param {string} step @param {string} digest @param {AbortSignal} signal */
export function items(id, step, digest, signal) {
  const place = `executions/${encodeURIComponent(id)}`;
  let state = '';
  /** Where pages begin, the one that is shown last. */
  let starts = [0];
  /** @type {number | null} */
  let next = null;
  let asked = 0;
  /** The event behind which they are shown, null for now. @type {number | null} */
  let position = null;
  /** Whether somebody has chosen which are shown. */
  let chosen = false;
  let shown = '';
  /** @type {Set<number>} */
  const opened = new Set();
  const title = h('h2', { class: 'part' }, 'Items');
  const chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Items by state' });
  const list = h('ul', { class: 'items' });
  const told = h('p', { class: 'hint', hidden: true });
  const before = h('button', { type: 'button', onclick: () => go(starts.slice(0, -1)) }, 'Items before');
  const behind = h('button', { type: 'button', onclick: () => next !== null && go([...starts, next]) }, 'Further items');
  const element = h('section', { hidden: true }, title, chips, told, list, h('p', { class: 'chips' }, before, behind));

  /** @param {number[]} to */
  function go(to) {
    starts = to.length ? to : [0];
    opened.clear();
    return refresh();
  }

  async function refresh() {
    asked += 1;
    const mine = asked;
    try {
      const found = await getShown(`${place}/items`, { step, state, after: starts[starts.length - 1], limit: PAGE, position }, signal);
      if (mine !== asked) return;
      // What went wrong is looked for first.
      if (!chosen && !state && found.counts.failed) {
        state = 'failed';
        await refresh();
        return;
      }
      told.hidden = !found.left_out;
      say(told, `${many(found.left_out, 'item')} more are not listed.`);
      draw(found);
    } catch (error) {
      if (signal.aborted) return;
      told.hidden = false;
      say(told, wordsOf(error));
    }
  }

  /** @param {{items: Item[], counts: Record<string, number>, next: number | null}} found */
  function draw(found) {
    const total = Object.values(found.counts).reduce((sum, count) => sum + count, 0);
    next = found.next;
    element.hidden = total === 0;
    before.hidden = starts.length < 2;
    behind.hidden = next === null;
    say(title, `Items (${total.toLocaleString('en')})`);
    const text = JSON.stringify([found.items, found.counts, state]);
    // What is looked at stays as it is while nothing is new in it.
    if (text === shown) return;
    shown = text;
    show(chips, ['', ...Object.keys(found.counts)].map((one) => h('button', {
      type: 'button', class: `chip ${one}`, 'aria-pressed': String(one === state), onclick: () => {
        state = one;
        chosen = true;
        go([0]);
      },
    }, WORDS[one] || one || 'all', h('small', null, (one ? found.counts[one] : total).toLocaleString('en')))));
    show(list, found.items.map(row), found.items.length ? null : h('li', { class: 'hint' }, 'None is like that now.'));
  }

  /** @param {Item} one */
  function row(one) {
    const whole = h('div', { class: 'whole', hidden: !opened.has(one.number) });
    const open = h('button', { type: 'button', class: 'bare', 'aria-expanded': String(opened.has(one.number)), 'aria-label': `Item ${one.index.join('.')}, all of it`, onclick: () => {
      whole.hidden = !whole.hidden;
      open.setAttribute('aria-expanded', String(!whole.hidden));
      if (whole.hidden) opened.delete(one.number);
      else {
        opened.add(one.number);
        fill(one, whole);
      }
    } }, one.item);
    if (opened.has(one.number)) fill(one, whole);
    return h('li', { class: one.state }, h('div', { class: 'title' }, h('code', null, `[${one.index.join('][')}]`), one.state === 'idle' ? h('span', { class: 'hint' }, WORDS.idle) : badge(one.state), h('small', { class: 'dim' },
      one.began !== null && one.ended !== null ? took(one.ended - one.began) : '', one.attempts > 1 ? `, ${one.attempts} attempts` : '')), open,
    one.result === null ? null : h('div', { class: 'came' }, '→ ', h('code', null, one.result)), one.error ? problem(one.error, null, digest) : null, whole);
  }

  /** All of an item and of its result. @param {Item} one @param {HTMLElement} whole */
  async function fill(one, whole) {
    if (!whole.childElementCount) show(whole, h('p', { class: 'hint' }, 'Asking…'));
    try {
      const found = await getShown(`${place}/item`, { step, key: [one.run, ...one.index].join('/') }, signal);
      const text = (/** @type {any} */ value) => (typeof value === 'string' ? value : jsonText(value, 2));
      show(whole, h('h3', null, 'Item'), h('pre', { class: 'value' }, text(found.item)), one.state === 'done' ? [h('h3', null, 'Result'), h('pre', { class: 'value' }, text(found.result))] : null);
    } catch (error) {
      if (!signal.aborted) show(whole, h('p', { class: 'problem' }, wordsOf(error)));
    }
  }

  /** Show them as they were behind an event, null for now. @param {number | null} to */
  function at(to) {
    if (asked && to === position) return;
    position = to;
    if (!chosen) state = '';
    refresh();
  }

  return { element, step, refresh, at };
}
