// A step at a moment of its execution: how it stands, its attempts and waits, what came with its token and what it came to.

import { badge, execution, h, prose, show, wordsOf } from './dom.js';
import { placeOf, problem } from './failures.js';
import { jsonText } from './numbers.js';
import { getShown } from './server.js';
import { arcOf } from './timeline.js';
import { took } from './times.js';

/** Attempts and waits that are listed at first: the last ones. */
export const LISTED = 100;

/**
 * `position` is that of the moment, null for the newest; `state` how the step is painted there, `bars` those of its
 * timeline that had begun; `most` attempts are listed, and `further` lists more; `again` are buttons, and `still` says whether the step is still the one that is looked at.
 * @typedef {{place: string, step: string, digest: string, position: number | null, over: boolean, state: string[] | null,
 *   bars: import('./timeline.js').Bar[], mayHave: boolean, most: number, further: () => void, again: import('./dom.js').Child[], still: () => boolean, signal: AbortSignal}} Look
 */

/** The name of a step, and how it stands. @param {Look} look @returns {import('./dom.js').Child[]} */
export function heading(look) {
  const { step, state } = look;
  return [h('div', { class: 'title' }, h('h2', null, step), state ? badge(state[0]) : h('span', { class: 'hint' }, look.position === null ? 'did not run' : 'has not run here')), state ? h('p', { class: 'hint' }, prose(state.slice(1).join(' · '))) : null];
}

/** All else of it. @param {HTMLElement} panel @param {Look} look */
export async function draw(panel, look) {
  const { place, step, position } = look;
  const result = h('div', null, h('p', { class: 'hint' }, 'Asking…'));
  const came = h('div');
  const all = look.bars.filter((bar) => bar.kind !== 'step');
  const attempts = all.slice(-look.most);
  const rest = all.length - attempts.length;
  const told = rest ? h('p', { class: 'hint' }, `The last ${attempts.length.toLocaleString('en')} of ${all.length.toLocaleString('en')}. `, h('button', { type: 'button', class: 'chip', onclick: look.further }, `${Math.min(rest, LISTED)} earlier ones`)) : null;
  show(panel, attempts.length ? [h('h3', null, 'Attempts and waits'), told, h('ul', { class: 'attempts' }, listed(attempts, look))] : null,
    h('h3', null, 'Arguments'), came, h('h3', null, 'Result'), result, h('p', null, look.again));
  const at = position === null ? {} : { position };
  try {
    // The server refuses to answer for one that has no result, which browsers take for a mistake of the page.
    const has = look.mayHave || look.bars.some((bar) => bar.kind === 'step' && bar.ok);
    const found = has ? value((await getShown(`${place}/result`, { step, ...at }, look.signal)).result) : h('p', { class: 'hint' }, position === null ? 'It has not succeeded.' : 'It has not succeeded here.');
    if (look.still()) show(result, found);
  } catch (error) {
    show(result, h('p', { class: 'hint' }, prose(wordsOf(error))));
  }
  const found = await getShown(`${place}/moment`, { position: position ?? Number.MAX_SAFE_INTEGER, step }, look.signal).catch(() => null);
  if (look.still()) show(came, found?.args ? values(found.args, 'None came with its token.') : h('p', { class: 'hint' }, 'It has not begun here.'));
}

/** @param {import('./timeline.js').Bar[]} attempts @param {Look} look */
function listed(attempts, look) {
  /** The last one that failed at a place shows it: it is the same for all. @type {Map<string, number>} */
  const last = new Map(attempts.map((bar) => [placeOf(bar.error), bar.number]));
  return attempts.map((bar) => h('li', { class: bar.to === null ? 'open' : bar.ok === false ? 'failed' : bar.ok ? 'ok' : 'cut' },
    h('span', null, bar.iteration.length ? h('code', null, `[${bar.iteration.join('][')}] `) : null,
      bar.kind === 'retry' ? `wait before attempt ${bar.attempt + 1}` : bar.kind === 'arc' ? arcOf(bar) : `${bar.task || look.step}${bar.attempt > 1 ? `, attempt ${bar.attempt}` : ''}`, bar.awaits ? [' waits for ', prose(bar.awaits)] : null, bar.child && bar.ok !== false ? [' ', execution(bar.child)] : null),
    h('small', null, bar.to === null ? (look.over ? 'not ended' : bar.awaits || bar.kind === 'retry' ? 'waiting' : 'running') : `${took(bar.to - bar.from)}${bar.ok === null ? ', cut off' : ''}`),
    bar.error ? problem(bar.error, null, look.digest, last.get(placeOf(bar.error)) === bar.number) : null));
}

/** A value as it is. @param {any} found */
export function value(found) {
  return h('pre', { class: 'value' }, typeof found === 'string' ? found : jsonText(found, 2));
}

/** Named values. @param {Record<string, any>} found @param {string} none */
export function values(found, none) {
  const rows = Object.entries(found || {});
  return rows.length ? h('dl', { class: 'values' }, rows.map(([name, one]) => [h('dt', null, name), h('dd', null, value(one))])) : h('p', { class: 'hint' }, none);
}
