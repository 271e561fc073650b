// Failures for people: what went wrong, what led to it, and where that stands in the source.

import { execution, h } from './dom.js';
import { jsonText } from './numbers.js';
import { excerpt } from './source.js';

/** How many errors are told, one the cause of the other: more are no help. */
const DEPTH = 5;

/** Letters of what else an error says that are shown. */
const LETTERS = 400;
/** Keys of an error that have their place already, or that say where in its plan it came from. */
const TOLD = new Set(['code', 'type', 'message', 'line', 'step', 'task', 'at', 'retryable', 'kind', 'cause', 'errors', 'index', 'arc', 'target', 'rule', 'key', 'part', 'where', 'response']);
/** Keys that its loop or who shows it adds to an error. */
const OF_LOOPS = new Set(['errors', 'index', 'at']);

/** The place of an error in its file, empty for none. @param {any} error */
export const placeOf = (error) => (error?.at ? `${error.at.file}:${error.at.line}:${error.at.column}` : '');

/** An error with its place. @param {any} error @param {((step: string) => void) | null} choose @param {string} digest @param {boolean} [excerpts] whether the source is shown there */
export function problem(error, choose, digest, excerpts = true) {
  const at = placeOf(error);
  return h('div', { class: 'problem' }, h('strong', null, error.code || 'error'), error.step && choose ? h('button', { type: 'button', class: 'bare', onclick: () => choose(error.step) }, `${error.step}${itemOf(error)}${error.task && !error.task.startsWith('__') ? ` / ${error.task}` : ''}`) : null,
    at ? h('code', null, at) : null, h('pre', null, told({ ...error, code: '' }) + cause(error, DEPTH - 1)), details(error), at && excerpts ? excerpt(digest, error.at, lineOf(error)) : null);
}

/** The children that an execution failed through, callers first, each with its error and the line of its source.
 * @param {{execution_id: string, playbook: string, playbook_id: string, error: any}[]} children
 */
export function failedChildren(children) {
  return children.map((child) => {
    const look = (/** @type {string} */ step) => location.assign(`#/executions/${encodeURIComponent(child.execution_id)}?step=${encodeURIComponent(step)}`);
    return h('div', { class: 'child' }, h('p', null, `in ${child.playbook}, execution `, execution(child.execution_id)), problem(child.error, look, child.playbook_id));
  });
}

/** The index of the iteration that an error of a loop is of, as `[1]`. @param {any} error @returns {string} */
function itemOf(error) {
  const same = (/** @type {any} */ one, /** @type {any} */ other) => JSON.stringify(one) === JSON.stringify(other);
  const own = Object.keys(error).filter((name) => !OF_LOOPS.has(name));
  const found = Array.isArray(error.errors) && error.errors.find((/** @type {any} */ one) => own.every((name) => same(one?.[name], error[name])));
  return found ? `[${found.index}]${itemOf(found)}` : '';
}

/** The response that an error, or what led to it, was about, and what else it says. @param {any} error */
function details(error) {
  let found = error;
  for (let depth = 1; depth < DEPTH && found && !found.response; depth += 1) found = found.cause && 'status' in found.cause ? found.cause.error : found.cause;
  const { status, url, body } = found?.response || {};
  const rows = [['Status', status], ['Address', url], ['Body', body], ...Object.entries(error).filter(([name]) => !TOLD.has(name))].filter(([, value]) => value !== undefined && value !== null);
  const text = (/** @type {any} */ value) => (typeof value === 'string' ? value : jsonText(value)).slice(0, LETTERS);
  return rows.length ? h('dl', { class: 'details' }, rows.map(([name, value]) => [h('dt', null, name), h('dd', null, name === 'execution_id' && typeof value === 'string' ? execution(value) : h('code', null, text(value)))])) : null;
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
  // A rule may pass on the message of what it was asked about: nobody reads it twice.
  const twice = code !== 'retry.exhausted' && inner?.message && String(error.message).includes(String(inner.message));
  if (twice && !inner.code) return cause(inner, depth);
  const words = typeof inner === 'object' && inner ? told(twice ? { ...inner, message: '' } : inner) + cause(inner, depth - 1) : inner ? String(inner) : '';
  if (code === 'retry.exhausted') return `; the last: ${words || 'an outcome that was ok'}`;
  return words && `; cause: ${words}`;
}

/** The line of its code in which a task failed, 0 where it does not say. @param {any} error @returns {number} */
function lineOf(error) {
  return Number.isInteger(error.line) ? error.line : 0;
}
