// The source of a playbook: whole, with line numbers, or the lines around a place.

import { h } from './dom.js';
import { address } from './server.js';

const AROUND = 3;

/** @type {Map<string, Promise<string[] | null>>} */
const known = new Map();

/** The lines of a plan's source, null where it came without one. @param {string} digest @returns {Promise<string[] | null>} */
export function linesOf(digest) {
  let lines = known.get(digest);
  if (!lines) {
    lines = fetch(address(`plans/${encodeURIComponent(digest)}/source`), { credentials: 'same-origin' }).then(async (response) => (response.ok ? (await response.text()).split(/\r\n|\n|\r/) : null), () => null);
    known.set(digest, lines);
  }
  return lines;
}

/**
 * Lines with their numbers, and a caret under a column of one of them.
 * @param {string[]} lines @param {number} first number of the first line @param {{line: number, column: number} | null} at
 */
export function listing(lines, first, at) {
  const wide = String(first + lines.length).length;
  return h('pre', { class: 'listing', tabIndex: 0 }, lines.map((line, n) => {
    const number = first + n;
    const marked = at !== null && at.line === number;
    return [h('span', { class: marked ? 'line here' : 'line' }, h('i', { 'aria-hidden': 'true' }, `${String(number).padStart(wide)}  `), line, '\n'),
      marked ? h('span', { class: 'line caret', 'aria-label': `here, column ${at.column}` }, `${' '.repeat(wide + 1 + Math.max(1, at.column))}^\n`) : null];
  }));
}

/** The lines around the place of an error. @param {string} digest @param {{line: number, column: number}} at @returns {HTMLElement} */
export function excerpt(digest, at) {
  const place = h('div', { class: 'excerpt' });
  linesOf(digest).then((lines) => {
    if (!lines || at.line < 1 || at.line > lines.length) return;
    const first = Math.max(1, at.line - AROUND);
    place.append(listing(lines.slice(first - 1, at.line + AROUND), first, at));
  });
  return place;
}
