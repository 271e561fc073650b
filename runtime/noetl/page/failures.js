// Failures for people: what went wrong, what led to it, and where that stands in the source.

import { h } from './dom.js';
import { excerpt } from './source.js';

/** How many errors are told, one the cause of the other: more are no help. */
const DEPTH = 5;

/** An error with its place. @param {any} error @param {((step: string) => void) | null} choose @param {string} digest */
export function problem(error, choose, digest) {
  const at = error.at ? `${error.at.file}:${error.at.line}:${error.at.column}` : '';
  return h('div', { class: 'problem' }, h('strong', null, error.code || 'error'), error.step && choose ? h('button', { type: 'button', class: 'bare', onclick: () => choose(error.step) }, `${error.step}${error.task && !error.task.startsWith('__') ? ` / ${error.task}` : ''}`) : null,
    at ? h('code', null, at) : null, h('pre', null, told({ ...error, code: '' }) + cause(error, DEPTH - 1)), at ? excerpt(digest, error.at, lineOf(error)) : null);
}

/** An error in the words of the command line (`noetl.cli.failures`), without its cause. @param {any} error @returns {string} */
function told(error) {
  const words = [error.code, error.type, error.message].filter(Boolean).map(String);
  const line = lineOf(error);
  return (words.join(': ') || 'without a reason') + (line ? ` (line ${line} of its code)` : '');
}

/** What an error was the end of: another error, or the outcome that a rule was asked about. @param {any} error @param {number} depth @returns {string} */
function cause(error, depth) {
  const code = String(error.code);
  const found = error.cause;
  if (depth < 1 || typeof found !== 'object' || !found) return '';
  if (code.startsWith('playbook.')) return cause(found, depth);  // its message says what became of the child already
  const inner = 'status' in found ? found.error : found;
  const words = typeof inner === 'object' && inner ? told(inner) + cause(inner, depth - 1) : inner ? String(inner) : '';
  if (code === 'retry.exhausted') return `; the last: ${words || 'an outcome that was ok'}`;
  return words && `; cause: ${words}`;
}

/** The line of its code in which a task failed, 0 where it does not say. @param {any} error @returns {number} */
function lineOf(error) {
  return Number.isInteger(error.line) ? error.line : 0;
}
