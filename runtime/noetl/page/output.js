// What the tasks of a step printed, as it comes: an attempt at a time, and always as text.

import { h, say, show, wordsOf } from './dom.js';
import { get } from './server.js';

const PAGE = 500;
/** The most characters of an attempt that are shown: its last ones. */
const SHOWN = 200_000;
/** Characters that a reader does not see, or that turn others around: controls but for tab and line end, marks of direction, and what has no width. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** @typedef {{ name: string, pieces: { text: string, stream: string, at: number }[], size: number, left: number, end: number }} Attempt */

/** @param {string} id @param {string} step @param {AbortSignal} signal */
export function output(id, step, signal) {
  /** @type {Map<string, Attempt>} */
  const attempts = new Map();
  let after = 0;
  /** Microseconds since the epoch of the last that is shown. */
  let last = Infinity;
  let chosen = '';
  let follows = true;
  let asking = false;
  let again = false;
  const choice = h('select', { 'aria-label': 'Attempt', hidden: true, onchange: () => {
    chosen = choice.value;
    follows = true;
    draw();
  } });
  const state = h('p', { class: 'hint' }, 'Asking…');
  const full = h('p', { class: 'hint', hidden: true });
  const text = h('pre', { class: 'value printed', tabIndex: 0, role: 'region', 'aria-label': 'Output of the task', hidden: true, onscroll: () => {
    follows = text.scrollTop + text.clientHeight >= text.scrollHeight - 8;
  } });
  const element = h('section', { class: 'output' }, h('h2', { class: 'part' }, 'Output'), choice, state, text, full);

  /** Take what is new. Asked again while it is being asked, it asks once more. */
  async function refresh() {
    again = true;
    if (asking) return;
    asking = true;
    try {
      while (again) {
        again = false;
        await load();
      }
    } catch (error) {
      if (!signal.aborted) say(state, wordsOf(error));
      state.hidden = false;
    } finally {
      asking = false;
    }
  }

  async function load() {
    for (;;) {
      const page = await get(`executions/${encodeURIComponent(id)}/logs`, { step, after, limit: PAGE }, signal);
      for (const row of page.logs) take(row);
      if (page.logs.length || !after) draw();
      if (page.next === null) return;
    }
  }

  /** @param {any} row */
  function take(row) {
    after = row.position;
    if (row.stream === 'full') {
      full.hidden = false;
      say(full, row.text);
      return;
    }
    const key = JSON.stringify([row.run, row.path, row.task, row.visit, row.attempt, row.claim]);
    let one = attempts.get(key);
    if (!one) {
      one = { name: nameOf(row), pieces: [], size: 0, left: 0, end: 0 };
      attempts.set(key, one);
    }
    if (row.offset > one.end) one.pieces.push({ text: '\n… some output is missing here: it was not kept\n', stream: 'cut', at: row.at });
    one.end = row.offset + [...row.text].length; // the server counts characters, and a text here their halves
    one.pieces.push({ text: row.stream === 'cut' ? `\n… ${row.text}` : row.text, stream: row.stream, at: row.at });
    one.size += row.text.length;
    while (one.size > SHOWN && one.pieces.length > 1) {
      const gone = /** @type {any} */ (one.pieces.shift());
      one.size -= gone.text.length;
      one.left += gone.text.length;
    }
  }

  function draw() {
    const there = [...attempts].filter(([, each]) => each.pieces[0].at <= last);
    const newest = there[there.length - 1]?.[0] || '';
    const key = there.some(([value]) => value === chosen) ? chosen : newest;
    const one = attempts.get(key);
    if (choice.childElementCount !== there.length) {
      show(choice, there.map(([value, each]) => h('option', { value }, each.name)));
      choice.hidden = there.length < 2;
    }
    choice.value = key;
    state.hidden = Boolean(one) && !one?.left;
    text.hidden = !one;
    if (!one) {
      say(state, last === Infinity ? 'Its tasks have printed nothing.' : 'Its tasks have printed nothing here.');
      return;
    }
    if (one.left) say(state, `The first ${one.left.toLocaleString('en')} characters are left out here; \`noetl logs\` prints all.`);
    const at = text.scrollTop;
    show(text, one.pieces.filter((piece) => piece.at <= last).map((piece) => (piece.stream === 'stdout' ? visible(piece.text) : h('span', { class: piece.stream }, visible(piece.text)))));
    text.scrollTop = follows ? text.scrollHeight : at;
  }

  /** Show what was printed until a moment. @param {number} to ms since the epoch */
  function until(to) {
    // Whatever was printed within its millisecond belongs to it.
    const next = to === Infinity ? to : to * 1000 + 999;
    if (next === last) return;
    last = next;
    draw();
  }

  return { element, step, refresh, until };
}

/** A text in which every character is seen: what is not, by its code. @param {string} text @returns {string} */
export function visible(text) {
  return text.replace(/\r\n/g, '\n').replace(UNSEEN, (one) => {
    const code = one.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** An attempt in words. @param {any} row @returns {string} */
function nameOf(row) {
  const iteration = row.path.length ? `[${row.path.join('][')}] ` : '';
  const more = [['run', row.run], ['visit', row.visit], ['attempt', row.attempt], ['claim', row.claim]];
  return `${iteration}${row.task}${more.filter(([, count]) => count > 1).map(([name, count]) => `, ${name} ${count}`).join('')}`;
}
