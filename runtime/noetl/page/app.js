// The frame of the page: who is signed in, where the address leads, and the view that is shown there.

import { auditView } from './audit.js';
import { h, show, trouble } from './dom.js';
import { executionView } from './execution.js';
import { executionsView } from './executions.js';
import { findingView } from './findings.js';
import { notificationView, notificationsView } from './notifications.js';
import { playbookView, playbooksView } from './playbooks.js';
import { scheduleView, schedulesView } from './schedules.js';
import { endWords, isLimited, scopeWords } from './scopes.js';
import { Refusal, forgetMissing, get, post, whenMissing, whenSignedOut } from './server.js';
import { failure, hostOf, signInForm } from './signing.js';
import { signalsView } from './signals.js';
import { triggerView } from './triggers.js';
import { workersView } from './workers.js';

/**
 * A view: its element, and what ends it. `turn` takes another query of the same place; where there is none, the view is
 * made anew.
 * @typedef {{element: HTMLElement, title: string, close: () => void, turn?: (query: URLSearchParams) => void}} View
 * @typedef {{name: string | null, role: string, operates: boolean, expires: string | null, paths: string[], pools: string[], issuer: string | null}} Person
 */

/** `whole`: only for whoever has no scope; `role`: only for that role. @type {{name: string, place: string, whole?: boolean, role?: string}[]} */
const PLACES = [
  { name: 'Executions', place: '#/executions' },
  { name: 'Playbooks', place: '#/playbooks' },
  { name: 'Schedules', place: '#/schedules' },
  { name: 'Signals', place: '#/signals', whole: true },
  { name: 'Workers', place: '#/workers', whole: true },
  { name: 'Notifications', place: '#/notifications' },
  { name: 'Audit', place: '#/audit', whole: true, role: 'admin' },
];

/** Where the server sends a browser of which no sign-in came. */
const SIGN_IN = '/sign-in';

/** @type {[RegExp, (found: string[], query: URLSearchParams, person: Person) => View][]} */
const VIEWS = [
  [/^\/executions$/, (_, query, person) => executionsView(query, person)],
  [/^\/executions\/([^/]+)$/, ([id], query, person) => executionView(id, query, person, renew)],
  [/^\/playbooks$/, (_, query, person) => playbooksView(query, person)],
  [/^\/playbooks\/(.+)$/, ([path], query, person) => playbookView(path, query, person)],
  [/^\/findings\/([^/]+)$/, ([name]) => findingView(name)],
  [/^\/schedules$/, (_, _query, person) => schedulesView(person)],
  [/^\/schedules\/(.+)$/, ([name], _query, person) => scheduleView(name, person)],
  [/^\/triggers\/(.+)$/, ([name], _query, person) => triggerView(name, person)],
  [/^\/notifications$/, (_, _query, person) => notificationsView(person)],
  [/^\/notifications\/(.+)$/, ([name], _query, person) => notificationView(name, person)],
  [/^\/audit$/, (_, query) => auditView(query)],
  [/^\/signals$/, (_, query) => signalsView(query)],
  [/^\/workers$/, (_, _query, person) => workersView(person)],
];

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const top_ = /** @type {HTMLElement} */ (document.getElementById('top'));
/** @type {Person | null} */
let person = null;
let isAsking = false;
/** What says that a part of what is shown is missing. */
const lacking = h('p', { class: 'problem', role: 'alert', hidden: true });
/** @type {View | null} */
let view = null;
let shown = '';

/** The place and the query that the address names. @returns {[string, URLSearchParams]} */
function here() {
  const [place, query] = location.hash.replace(/^#/, '').split('?');
  return [place || '/executions', new URLSearchParams(query || '')];
}

/** The names in an address, null where it is another one or they are no texts. @param {RegExpExecArray | null} found @returns {string[] | null} */
function decoded(found) {
  try {
    return found && found.slice(1).map(decodeURIComponent);
  } catch {
    return null;
  }
}

function route() {
  if (!person) {
    // The form says why, and where it goes on: both stand in the address.
    if (isAsking) signIn();
    return;
  }
  const [place, query] = here();
  if (place === SIGN_IN) {
    signIn();
    return;
  }
  if (view && place === shown && view.turn) {
    view.turn(query);
    return;
  }
  view?.close();
  view = null;
  shown = place;
  forgetMissing();
  for (const [pattern, make] of VIEWS) {
    const found = decoded(pattern.exec(place));
    if (found) {
      view = make(found, query, person);
      break;
    }
  }
  document.title = `${view ? view.title : 'Not found'} · noetl`;
  show(main, view ? view.element : h('p', { class: 'empty' }, 'There is nothing at this address. ', h('a', { href: '#/executions' }, 'All executions')));
  head();
  window.scrollTo(0, 0);
}

/** Make the view anew: what it shows has become another thing. */
function renew() {
  shown = '';
  route();
}

function head() {
  const [place] = here();
  const links = PLACES.filter((one) => person && !(one.whole && isLimited(person)) && (!one.role || one.role === person.role)).map((one) => h('a', { href: one.place, 'aria-current': place.startsWith(one.place.slice(1)) ? 'page' : null }, one.name));
  const who = person && h('div', { class: 'who' },
    h('span', { title: whence(person) }, h('span', { class: 'known' }, nameOf(person)), h('small', null, person.role), isLimited(person) && h('small', { class: 'scope' }, scopeWords(person))),
    person.name && h('button', { class: 'bare', onclick: signOut }, 'Sign out'));
  const nav = h('nav', { 'aria-label': 'Places' }, person ? links : null);
  show(top_, h('a', { class: 'brand', href: '#/executions' }, h('img', { src: 'page/icon.svg', alt: '', width: 24, height: 24 }), 'noetl'),
    nav, who);
}

/** How somebody came in, in words. @param {Person} who */
function whence(who) {
  if (!who.name) return 'This server has no tokens';
  return [who.issuer ? `Signed in as ${who.name} at ${hostOf(who.issuer)}` : `Signed in with the token ${who.name}`, endWords(who)].join(' ').trim();
}

/** A name as there is room for it. @param {Person} who */
function nameOf(who) {
  // Whose address the provider has not verified is called by its address and his number there.
  return who.issuer && who.name?.startsWith(`${who.issuer}#`) ? who.name.slice(who.issuer.length + 1) : who.name || 'local';
}

async function signOut() {
  const { end_session: there } = await post('sign-out', {});
  // Else whoever comes next to this browser is signed in with one click.
  if (there) location.assign(there);
  else signIn();
}

/** Ask who somebody is. @param {string} [why] */
function signIn(why = '') {
  person = null;
  isAsking = true;
  view?.close();
  view = null;
  shown = '';
  head();
  document.title = 'Sign in · noetl';
  const [place, query] = here();
  const failed = place === SIGN_IN ? query.get('failed') : null;
  const back = place === SIGN_IN ? '' : location.hash.slice(1);
  const { form, token } = signInForm(why || failure(failed), back, failed === 'role', (found) => {
    person = found;
    if (place === SIGN_IN) location.replace('#/executions');
    else route();
  });
  show(main, form);
  token.focus();
}

async function begin() {
  whenSignedOut(() => {
    if (person) signIn('The session is over.');
  });
  whenMissing((names) => {
    lacking.hidden = !names.length;
    lacking.textContent = names.length === 1 ? `Group ${names[0]} does not answer: what it has is missing here.` : `Groups ${names.join(', ')} do not answer: what they have is missing here.`;
  });
  main.before(lacking);
  window.addEventListener('hashchange', route);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !(event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement)) {
      const search = /** @type {HTMLElement | null} */ (main.querySelector('input[type=search]'));
      if (search) {
        event.preventDefault();
        search.focus();
      }
    }
  });
  try {
    person = await get('me');
    route();
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) signIn();
    else show(main, trouble(error));
  }
}

begin();
