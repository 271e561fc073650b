// The log of an execution: its events as they stand, filtered, from wherever the reader is.

import { h, say, show, wordsOf } from './dom.js';
import { jsonText } from './numbers.js';
import { getShown } from './server.js';
import { clock, millis } from './times.js';

const PAGE = 200;
const FOUND = 100;
const LOOKS = 15;

/** @param {string} id @param {(position: number) => void} go */
export function log(id, go) {
  /** @type {any[]} */
  let events = [];
  let next = 0;
  let end = false;
  let run = 0;
  const step = h('input', { type: 'search', placeholder: 'Step', 'aria-label': 'Only events of a step', autocomplete: 'off' });
  const kind = h('input', { type: 'search', placeholder: 'Event, as failed', 'aria-label': 'Only events whose name has', autocomplete: 'off' });
  const body = h('tbody');
  const more = h('button', { type: 'button', onclick: () => load() }, 'Later events');
  const first = h('button', { type: 'button', class: 'bare', onclick: () => from(0) }, 'From the beginning');
  const state = h('span', { class: 'hint', role: 'status' });
  const element = h('section', { class: 'card log' }, h('header', null, h('h2', null, 'Log'), state, h('span', { class: 'gap' }), step, kind, first),
    h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Events' }, h('table', null, h('thead', null, h('tr', null, ['#', 'Time', 'Event', 'Where', 'What'].map((name) => h('th', null, name)))), body)), h('footer', null, more));

  const fits = (/** @type {any} */ event) => isAt(event, step.value.trim()) && (!kind.value || event.event_type.includes(kind.value.trim()));

  /** Begin anew behind a position. @param {number} position */
  async function from(position) {
    run += 1;
    events = [];
    next = position;
    end = false;
    show(body);
    await load();
  }

  async function load() {
    const mine = run;
    let found = 0;
    more.disabled = true;
    try {
      for (let look = 0; look < LOOKS && found < FOUND && !end; look += 1) {
        const page = await getShown(`executions/${encodeURIComponent(id)}/events`, { after: next, limit: step.value || kind.value ? 1000 : PAGE });
        if (mine !== run) return;
        next += page.events.length;
        end = page.next === null;
        for (const event of page.events.filter(fits)) {
          found += 1;
          events.push(event);
          body.append(row(event));
        }
      }
    } catch (error) {
      say(state, wordsOf(error));
      return;
    } finally {
      if (mine === run) more.disabled = false;
    }
    more.hidden = end;
    say(state, events.length ? '' : 'No event is like that so far.');
  }

  /** @param {any} event */
  function row(event) {
    const where = placesOf(event).pop();
    const text = brief(event.payload);
    const open = h('button', { type: 'button', class: 'bare', 'aria-expanded': 'false', title: 'Show all of it' }, text || '–');
    const one = h('tr', { 'data-position': event.position }, h('td', null, h('button', { type: 'button', class: 'bare', title: 'Go there', onclick: () => go(event.position) }, event.position)),
      h('td', { class: 'id' }, clock(millis(event.ts))), h('td', { class: `kind ${event.status}` }, event.event_type), h('td', null, where, event.attempt > 1 ? h('small', { class: 'dim' }, ` attempt ${event.attempt}`) : null), h('td', { class: 'brief' }, open));
    open.addEventListener('click', () => {
      const is = one.nextElementSibling?.classList.contains('whole');
      open.setAttribute('aria-expanded', String(!is));
      if (is) one.nextElementSibling?.remove();
      else one.after(h('tr', { class: 'whole' }, h('td', { colspan: 5 }, h('pre', null, jsonText(event.payload, 2)))));
    });
    return one;
  }

  let typing = 0;
  for (const input of [step, kind]) {
    input.addEventListener('input', () => {
      clearTimeout(typing);
      typing = window.setTimeout(() => from(0), 250);
    });
  }

  return {
    element,
    from,
    /** There is more in the log. */
    grew() {
      if (end) {
        end = false;
        if (body.childElementCount < 1000) load();
        else more.hidden = false;
      }
    },
    /** @param {string} name */
    only(name) {
      step.value = name;
      from(0);
    },
  };
}

/** The place of an event, from its step to what the column `Where` says: `start`, `start[1]`, `start[1] / task`. @param {any} event @returns {string[]} */
function placesOf(event) {
  if (!event.step) return [''];
  const found = [event.step];
  for (const index of event.iteration || []) found.push(`${found[found.length - 1]}[${index}]`);
  if (event.task) found.push(`${found[found.length - 1]} / ${event.task}`);
  return found;
}

/** Whether an event is of a step, of an item or of a task in it, as somebody wrote that; all are, where nothing is written. @param {any} event @param {string} written */
function isAt(event, written) {
  const plain = (/** @type {string} */ text) => text.replace(/\s+/g, '');
  return !written || placesOf(event).some((one) => plain(one) === plain(written)) || (event.task && plain(`${event.step}/${event.task}`) === plain(written));
}

/** A payload in a few letters. @param {any} payload @returns {string} */
function brief(payload) {
  const error = payload.error || payload.outcome?.error;
  if (error && typeof error === 'object') return `${error.code}: ${error.message}`.slice(0, 160);
  return jsonText(payload).slice(1, -1).slice(0, 160);
}
