// Who is told of ends: notifications, how each stands, and dead letters, which could not be told and are tried no more.

import { h, prose } from './dom.js';
import { ask, tell } from './forms.js';
import { document_, heading, looking, pausing, request, state } from './schedules.js';
import { isLimited, scopeHint } from './scopes.js';
import { all, get, getShown, post, remove } from './server.js';
import { ago, many, millis, moment } from './times.js';

const LETTERS = 100;

/** All notifications, and dead letters. @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function notificationsView(person) {
  return looking('Notifications', async (signal) => {
    const [notifications, letters] = await Promise.all([all('notifications', {}, 'notifications', signal), isLimited(person) ? null : get('dead-letters', { limit: LETTERS }, signal)]);
    return { notifications, letters };
  }, ({ notifications, letters }, look) => [h('h1', null, 'Notifications'), scopeHint(person), h('div', { class: 'pools' },
    h('section', { class: 'card pool' }, h('header', null, h('h2', null, 'Notifications'), h('span', { class: 'dim' }, String(notifications.length))),
      notifications.length ? h('ul', null, notifications.map(row)) : h('p', { class: 'hint none' }, 'There is none. ', h('code', null, 'noetl notifications put FILE'), ' keeps one.')),
    letters && h('section', { class: 'card pool' }, h('header', null, h('h2', null, 'Dead letters'), h('span', { class: 'dim' }, letters.next === null ? String(letters.dead_letters.length) : `the oldest ${LETTERS}`)),
      letters.dead_letters.length ? h('ul', null, letters.dead_letters.map((/** @type {any} */ one) => letter(one, person, look))) : h('p', { class: 'hint none' }, 'Everybody was told of everything, or is still to be told.')))]);
}

/** @param {any} one */
function row(one) {
  return h('li', null, h('a', { href: `#/notifications/${encodeURIComponent(one.name)}` }, one.name), state(one), h('span', { class: 'dim' }, told(one)), one.to ? h('span', { class: 'dim' }, `by ${one.to}`) : null,
    one.last_told ? h('span', { class: 'dim', title: moment(millis(one.last_told)) }, `told last ${ago(millis(one.last_told))}`) : null, h('span', { class: 'gap' }), one.waiting ? h('span', null, `${many(one.waiting, 'message')} to be sent`) : null, one.dead ? h('span', { class: 'warn' }, many(one.dead, 'dead letter')) : null, one.trouble ? h('span', { class: 'warn' }, prose(one.trouble)) : null);
}

/** Of which events one tells. @param {any} one @returns {string} */
const told = (one) => (one.on || []).join(', ');

/** A dead letter, and the ways on. @param {any} one @param {import('./app.js').Person} person @param {() => Promise<void>} look */
function letter(one, person, look) {
  const name = `${one.topic.replace(/^[a-z]+:/, '')}: ${one.subject}`;
  const acts = person.operates ? [
    h('button', { type: 'button', 'aria-label': `Try again: ${name}`, onclick: () => request(`dead-letters/${one.number}/retry`, look, 'tried again') }, 'Try again'),
    h('button', { type: 'button', 'aria-label': `Drop: ${name}`, onclick: () => drop(one, name, look) }, 'Drop…'),
  ] : [];
  return h('li', null, h('span', { class: 'dim' }, String(one.number)), h('strong', null, name), h('span', { class: 'dim' }, moment(millis(one.at))), h('span', { class: 'dim' }, one.tries === 1 ? '1 try' : `${one.tries} tries`), h('span', { class: 'warn' }, prose(one.reason)), h('span', { class: 'gap' }), h('div', { class: 'acts' }, acts));
}

/** @param {any} one @param {string} name @param {() => Promise<void>} look */
function drop(one, name, look) {
  ask('Drop the dead letter?', [h('p', null, h('strong', null, name)), h('p', null, 'Nobody is told of it any more.')], 'Drop', async () => {
    await remove(`dead-letters/${one.number}`);
    tell('dropped');
    await look();
  }, 'danger');
}

/** One notification. @param {string} name @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function notificationView(name, person) {
  const at = `notifications/${encodeURIComponent(name)}`;
  return looking(name, (signal) => getShown(at, {}, signal), (found, look) => {
    const acts = person.operates ? [h('button', { type: 'button', onclick: () => test(at, found, look) }, 'Test…'), pausing(at, found, look)] : [];
    const facts = [h('span', null, `tells of: ${told(found)}`), found.to ? h('span', null, `by ${found.to}`) : null, h('span', null, found.last_told ? `told last ${moment(millis(found.last_told))}` : 'has told nothing yet'), h('span', null, `${many(found.waiting, 'message')} to be sent`),
      found.dead ? h('a', { href: '#/notifications' }, many(found.dead, 'dead letter')) : null];
    return [heading(found, acts, facts, ['#/notifications', 'Notifications']), h('div', { class: 'pools' }, document_(found.document))];
  });
}

/** @param {string} at @param {any} found @param {() => Promise<void>} look */
function test(at, found, look) {
  ask(`Send a message by ${found.name}?`, [h('p', null, 'It is about nothing, and shows whether messages come through. What is wrong with one that was not sent stands here soon.')], 'Send', async () => {
    await post(`${at}/test`, {});
    tell('a message is on its way');
    await look();
  });
}
