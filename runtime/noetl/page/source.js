// The source of a playbook: whole, with line numbers, or the lines around a place.

import { h } from './dom.js';
import { getText } from './server.js';

const AROUND = 3;

/** @type {Map<string, Promise<string[] | null>>} */
const known = new Map();

/** The lines of a plan's source, null where it came without one. @param {string} digest @returns {Promise<string[] | null>} */
export function linesOf(digest) {
  let lines = known.get(digest);
  if (!lines) {
    lines = getText(`plans/${encodeURIComponent(digest)}/source`).then((text) => text.split(/\r\n|\n|\r/), () => null);
    known.set(digest, lines);
  }
  return lines;
}

/**
 * Lines with their numbers, and a caret under a column of one of them. `notes` stand under their lines, `marks` are
 * columns of lines, from 1, that are underlined.
 * @param {string[]} lines @param {number} first number of the first line @param {{line: number, column: number} | null} at
 * @param {Map<number, any[]>} [notes] @param {Map<number, {from: number, to: number, kind: string}[]>} [marks]
 */
export function listing(lines, first, at, notes = new Map(), marks = new Map()) {
  const wide = String(first + lines.length).length;
  return h('pre', { class: 'listing', tabIndex: 0 }, lines.map((line, n) => {
    const number = first + n;
    const marked = at !== null && at.line === number;
    const under = marks.get(number);
    return [h('span', { class: marked ? 'line here' : 'line', 'data-line': number }, h('i', { 'aria-hidden': 'true' }, `${String(number).padStart(wide)}  `), under ? underlined(line, under) : line, '\n'),
      marked ? h('span', { class: 'line caret', 'aria-label': `here, column ${at.column}` }, `${' '.repeat(wide + 1 + Math.max(1, at.column))}^\n`) : null, notes.get(number) || null];
  }));
}

/** A line in pieces, cut where marks begin and end. Columns are code points. @param {string} line @param {{from: number, to: number, kind: string}[]} marks */
function underlined(line, marks) {
  const letters = [...line];
  const cuts = [...new Set([1, letters.length + 1, ...marks.flatMap((one) => [one.from, one.to])])].filter((cut) => cut >= 1 && cut <= letters.length + 1).sort((a, b) => a - b);
  return cuts.slice(1).map((to, n) => {
    const text = letters.slice(cuts[n] - 1, to - 1).join('');
    const mark = marks.find((one) => one.from <= cuts[n] && to <= one.to);
    return mark ? h('u', { class: mark.kind }, text) : text;
  });
}

/** Go to a line of a listing. @param {HTMLElement} place @param {number} line */
export function reveal(place, line) {
  const found = place.querySelector(`[data-line="${line}"]`);
  for (const one of place.querySelectorAll('.shown')) one.classList.remove('shown');
  found?.classList.add('shown');
  found?.scrollIntoView({ block: 'center' });
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
