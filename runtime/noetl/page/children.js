// The children of an execution: which step and item called each, how they stood at a moment, and their pictures.

import { badge, h, show } from './dom.js';
import { Frames } from './frames.js';
import { picture, placePicture } from './picture.js';
import { get } from './server.js';
import { millis, took } from './times.js';

/** Children that are listed: the last ones. */
const LISTED = 200;

/** @typedef {import('./timeline.js').Bar} Bar */

/** A moment of the caller: a position of its log, and when that was, in ms since the epoch. @typedef {{position: number, time: number}} Moment */

/** @param {string} id @param {() => Bar[]} bars those of its timeline @param {AbortSignal} signal */
export function children(id, bars, signal) {
  const element = h('section', { class: 'card children', hidden: true });
  /** @type {any[]} */
  let rows = [];
  let total = 0;
  /** @type {Moment | null} */
  let moment = null;
  let shown = '';

  /** Ask which there are. */
  async function refresh() {
    const found = await get('executions', { parent: id, limit: LISTED }, signal).catch(() => null);
    if (!found) return;
    // Of a long list the counts say how long it is.
    const counts = found.next ? (await get('counts/status', { query: `parent:${id}` }, signal).catch(() => ({ counts: [] }))).counts : [];
    rows = found.executions.reverse();
    total = Math.max(rows.length, counts.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.count, 0));
    draw();
  }

  /** Show them as they stood at a moment, null for now. @param {Moment | null} to */
  function at(to) {
    moment = to;
    draw();
  }

  function draw() {
    element.hidden = !rows.length;
    const calls = new Map(bars().filter((bar) => bar.child).map((bar) => [bar.child, bar]));
    const there = rows.flatMap((row) => {
      const call = calls.get(row.execution_id) || null;
      const stood = standing(row, call, moment);
      return stood ? [{ row, call, ...stood }] : [];
    });
    // What is looked at stays as it is while nothing is new in it.
    const text = JSON.stringify([total, there.map(({ row, call, status, until }) => [row.execution_id, call && call.number, status, until])]);
    if (text === shown) return;
    shown = text;
    const left = total - rows.length;
    show(element, h('header', null, h('h2', null, `Children (${(moment ? there.length : total).toLocaleString('en')})`),
      left ? h('p', { class: 'hint' }, `The last ${rows.length} ${moment ? 'are looked at' : 'are listed'}. `, h('a', { href: `#/executions?query=${encodeURIComponent(`parent:${id}`)}` }, `All ${total.toLocaleString('en')}`)) : null,
      there.length ? null : h('p', { class: 'hint' }, 'None of them had begun here.')), h('ul', null, there.map(listed)));
  }

  /** @param {{row: any, call: Bar | null, status: string, until: number | null}} one */
  function listed({ row, call, status, until }) {
    const inner = h('div', { class: 'inner', hidden: true });
    const fold = h('button', { type: 'button', class: 'chip', 'aria-expanded': 'false', 'aria-label': `Picture of ${row.execution_id}`, onclick: () => {
      inner.hidden = !inner.hidden;
      fold.setAttribute('aria-expanded', String(!inner.hidden));
      if (!inner.childElementCount) inline(row, inner);
    } }, 'picture');
    const by = call && `${call.step}${call.iteration.length ? `[${call.iteration.join('][')}]` : ''}`;
    return h('li', null, h('div', { class: 'child' }, badge(status), by ? h('span', null, by) : null, h('a', { href: `#/executions/${encodeURIComponent(row.execution_id)}` }, row.playbook), h('small', { class: 'dim' }, took((until ?? Date.now()) - millis(row.started))), h('code', { class: 'dim' }, row.execution_id), fold), inner);
  }

  /** The picture of a child as it stands, in its place. @param {any} row @param {HTMLElement} into */
  async function inline(row, into) {
    const one = picture(row.plan_digest, () => {
      location.hash = `#/executions/${encodeURIComponent(row.execution_id)}`;
    });
    placePicture(into, one);
    const child = await get(`executions/${encodeURIComponent(row.execution_id)}`, {}, signal);
    const theirs = new Frames(row.execution_id, child.events);
    await theirs.ensure(child.events);
    one.paint(theirs.state(child.events));
  }

  return { element, refresh, at, draw };
}

/** How a child stood at a moment of its caller, and until when it went on; null where it had not begun.
 * @param {any} row @param {Bar | null} call what called it, null where that is not known @param {Moment | null} moment null for now
 * @returns {{status: string, until: number | null} | null}
 */
function standing(row, call, moment) {
  const ended = row.ended ? millis(row.ended) : null;
  if (!moment) return { status: row.status, until: ended };
  if (call ? call.since > moment.position : millis(row.started) > moment.time) return null;
  // Its caller waits, or it goes on without being waited for.
  const open = ended === null || ended > moment.time || Boolean(call?.awaits && (call.until === null || call.until > moment.position));
  return open ? { status: 'running', until: Math.max(moment.time, millis(row.started)) } : { status: row.status, until: ended };
}
