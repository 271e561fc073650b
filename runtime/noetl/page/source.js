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
    lines = getText(`plans/${encodeURIComponent(digest)}/source`).then((text) => text.split(/\r\n|\n|\r/), (problem) => {
      if (problem.status !== 404) known.delete(digest);  // it may come when it is asked for again
      return null;
    });
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

/**
 * The lines around the place of an error, or of the line of its task's code, where that stands in the source.
 * @param {string} digest @param {{line: number, column: number, end_line?: number, end_column?: number}} at @param {number} [line] of the code, from 1 @returns {HTMLElement}
 */
export function excerpt(digest, at, line = 0) {
  const place = h('div', { class: 'excerpt' });
  linesOf(digest).then((lines) => {
    if (!lines || at.line < 1 || at.line > lines.length) return;
    const here = (line && inCode(lines, at, line)) || at;
    const first = Math.max(1, here.line - AROUND);
    const marks = here === at && at.end_line === at.line && at.end_column ? new Map([[at.line, [{ from: at.column, to: at.end_column, kind: 'error' }]]]) : new Map();
    place.append(listing(lines.slice(first - 1, here.line + AROUND), first, here, new Map(), marks));
  });
  return place;
}

/**
 * Where a line of the code of a task stands, null where the code is no block of lines under the task's own key `code`.
 * @param {string[]} lines @param {{line: number, column: number}} at where the task begins @param {number} line
 */
function inCode(lines, at, line) {
  const lead = (/** @type {string} */ text) => text.length - text.trimStart().length;
  const keys = at.column - 1;
  for (let n = at.line - 1; n < lines.length; n += 1) {
    const text = n === at.line - 1 ? ' '.repeat(keys) + lines[n].slice(keys) : lines[n];
    if (text.trim() && lead(text) < keys) return null;  // the task is over
    // Other texts of a task stand deeper than its keys, so that this is one. Lines of a block that is folded (`>`) are no lines of the code.
    if (lead(text) !== keys || !/^code:\s*\|[-+\d]*\s*(#.*)?$/.test(text.slice(keys))) continue;
    const found = lines[n + line];
    return found?.trim() && lead(found) > keys ? { line: n + line + 1, column: lead(found) + 1 } : null;
  }
  return null;
}
