// What lint finds in a source: a list of it, its words at the lines, and the page that explains one.

import { h, prose, show, sign, trouble } from './dom.js';
import { back } from './lists.js';
import { get, getText } from './server.js';
import { many } from './times.js';

/**
 * @typedef {{line: number, column: number, end_line: number, end_column: number}} Span
 * @typedef {{code: string, slug: string, severity: string, message: string, help: string, span: Span,
 *   related: {span: Span, message: string}[], fix: {title: string} | null}} Finding
 */

const LISTED = 50;
/** The badge of a severity. @type {Record<string, string>} */
const LOOKS = { error: 'failed', warning: 'blocked', note: 'idle' };

/** The findings in the source of a plan. @param {string} digest @param {AbortSignal} signal @returns {Promise<{findings: Finding[], left_out: number}>} */
export function findingsOf(digest, signal) {
  return get(`plans/${encodeURIComponent(digest)}/findings`, {}, signal);
}

/** The severity, its sign beside it. @param {Finding} one */
const weight = (one) => h('span', { class: `badge ${LOOKS[one.severity] || 'idle'}` }, sign(LOOKS[one.severity] || 'idle'), one.severity);

/** The code, which leads to what explains it. @param {Finding} one */
const code = (one) => h('a', { href: `#/findings/${encodeURIComponent(one.code)}`, title: `What ${one.code} ${one.slug} means` }, one.code);

/** How many of each severity there are, and a row for each that leads to its line. @param {{findings: Finding[], left_out: number}} found @param {(line: number) => void} go */
export function summary(found, go) {
  const { findings, left_out: leftOut } = found;
  if (!findings.length) return h('p', { class: 'hint' }, sign('done'), ' Lint finds nothing in it.');
  const counts = Object.keys(LOOKS).map((one) => [one, findings.filter((each) => each.severity === one).length]).filter(([, count]) => count);
  const rows = findings.slice(0, LISTED).map((one) => h('li', null, weight(one), code(one), one.span.line ? h('button', { type: 'button', class: 'bare', onclick: () => go(one.span.line) }, `line ${one.span.line}`) : null, h('span', null, prose(one.message))));
  const more = findings.length - rows.length + leftOut;
  return [h('p', null, counts.map(([one, count]) => many(Number(count), String(one))).join(', ')), h('ul', { class: 'findings' }, rows), more ? h('p', { class: 'hint' }, `${many(more, 'finding')} more${leftOut ? '' : ', at their lines'}`) : null];
}

/**
 * What is made of findings, by the first line of each.
 * @template T @param {Finding[]} findings @param {(one: Finding) => T} make @returns {Map<number, T[]>}
 */
function byLine(findings, make) {
  /** @type {Map<number, T[]>} */
  const found = new Map();
  for (const one of findings) {
    const rows = found.get(one.span.line) || [];
    found.set(one.span.line, rows);
    rows.push(make(one));
  }
  return found;
}

/** What stands under each line. @param {Finding[]} findings @returns {Map<number, any[]>} */
export function notes(findings) {
  return byLine(findings, (one) => h('span', { class: `told ${one.severity}`, role: 'note' }, weight(one), ' ', code(one), ' ', prose(one.message), one.help ? h('span', { class: 'dim' }, ' → ', prose(one.help)) : null,
    one.fix ? h('span', { class: 'dim' }, ' (', h('code', null, 'noetlc lint --fix'), ': ', prose(one.fix.title), ')') : null, one.related.map((each) => h('span', { class: 'dim way' }, `line ${each.span.line}: `, prose(each.message), '.'))));
}

/** Where the findings lie in their lines, as columns. @param {Finding[]} findings @returns {Map<number, {from: number, to: number, kind: string}[]>} */
export function marks(findings) {
  return byLine(findings, ({ span, severity }) => ({ from: span.column, to: span.end_line > span.line ? Infinity : Math.max(span.end_column, span.column + 1), kind: severity }));
}

/** The page of a finding. @param {string} name @returns {import('./app.js').View} */
export function findingView(name) {
  const closing = new AbortController();
  const body = h('div', null, h('p', { class: 'hint' }, 'Asking…'));
  const element = h('section', { class: 'explained' }, body);
  getText(`findings/${encodeURIComponent(name)}`, closing.signal).then((text) => {
    const [title, ...parts] = text.trim().split(/\n\n(?=\S)/);
    show(body, h('p', { class: 'crumb' }, h('a', { href: back('playbooks') }, 'Playbooks'), ' / Findings'), h('h1', null, title), parts.map(section));
  }, (error) => {
    if (!closing.signal.aborted) show(body, trouble(error));
  });
  return { element, title: name, close: () => closing.abort() };
}

/** A part of an explanation: a text, or a heading over lines that are indented. @param {string} part */
function section(part) {
  const [first, ...lines] = part.split('\n');
  if (!lines.length || !lines.every((line) => line === '' || line.startsWith('    '))) return h('p', null, prose(part));
  const text = lines.map((line) => line.slice(4)).join('\n');
  return [h('h2', null, first), first === 'Example' || first === 'Instead' ? h('pre', { class: 'value', tabIndex: 0 }, text) : h('p', null, prose(text))];
}
