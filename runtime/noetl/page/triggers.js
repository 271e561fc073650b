// A trigger: what it waits for, what it could not start, and what may be asked of it.

import { execution, h, prose } from './dom.js';
import { ask, tell } from './forms.js';
import { jsonText } from './numbers.js';
import { document_, heading, looking, pausing } from './schedules.js';
import { getShown, post } from './server.js';
import { many, millis, moment } from './times.js';

/** @param {string} name @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function triggerView(name, person) {
  const at = `triggers/${encodeURIComponent(name)}`;
  return looking(name, (signal) => getShown(at, {}, signal), (found, look) => {
    const letters = found.dead_letters || [];
    const acts = person.operates ? [
      letters.length ? h('button', { type: 'button', onclick: () => retry(at, look) }, 'Try again…') : null,
      pausing(at, found, look),
    ] : [];
    const facts = [h('a', { href: `#/playbooks/${encodeURIComponent(found.playbook)}` }, found.playbook), h('span', null, found.waits_for), found.last_execution ? h('span', null, 'last ', execution(found.last_execution)) : null];
    return [heading(found, acts, facts), h('div', { class: 'pools' },
      h('section', { class: 'card pool' }, h('header', null, h('h2', null, 'Not started'), h('span', { class: 'dim' }, String(letters.length))), letters.length ? h('ul', null, letters.map(row)) : h('p', { class: 'hint none' }, 'All that happened was started.')),
      document_(found.document))];
  });
}

/** @param {any} letter */
function row(letter) {
  return h('li', null, h('span', { class: 'dim' }, moment(millis(letter.at))), h('span', { class: 'warn' }, prose(letter.reason)), h('details', null, h('summary', null, 'What happened'), h('pre', { tabIndex: 0 }, jsonText(letter.what, 2))));
}

/** @param {string} at @param {() => Promise<void>} look */
function retry(at, look) {
  ask('Start what could not be started?', [h('p', null, 'Each is started once. What still cannot be started stays.')], 'Try again', async () => {
    const told = await post(`${at}/retry`, {});
    const left = told.letters.filter((/** @type {any} */ one) => one.reason !== null);
    tell(`${many(told.letters.length - left.length, 'start')}, ${left.length} left`);
    await look();
  });
}
