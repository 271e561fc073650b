// What starts playbooks by itself: schedules and triggers, how each stands, and what may be asked of a schedule.

import { execution, h, prose, show, sign, trouble, wordsOf } from './dom.js';
import { ask, field, tell } from './forms.js';
import { jsonText } from './numbers.js';
import { scopeHint } from './scopes.js';
import { all, getShown, post } from './server.js';
import { keys } from './starting.js';
import { ago, many, millis, moment, took } from './times.js';

const LOOK_EVERY = 3000;

/** What started an execution, where that was no person, with links. @param {any} by @returns {any[]} */
export function cause(by) {
  if (by.schedule) {
    return [h('a', { href: `#/schedules/${encodeURIComponent(by.schedule)}` }, by.schedule), h('span', { title: by.time }, ` for ${moment(millis(by.time))}`), by.backfill ? ' (backfill)' : by.asked ? ' (asked for)' : ''];
  }
  // A start that came with a trace was somebody's: of who that was, only the trace is known.
  if (!by.trigger) return by.traceparent ? [`trace ${String(by.traceparent).split('-')[1]}`] : ['another program'];
  const link = h('a', { href: `#/triggers/${encodeURIComponent(by.trigger)}` }, by.trigger);
  if (by.execution) return [link, ' behind ', execution(by.execution), by.status ? ` (${by.status})` : ''];
  return [link, by.request ? ` (request ${by.request})` : by.subject ? ` (a message on ${by.subject})` : ''];
}

/** How one stands, as a badge. @param {any} one */
export function state(one) {
  const mark = one.paused ? 'paused' : one.trouble ? 'failed' : 'completed';
  return h('span', { class: `badge ${mark}` }, sign(mark), one.paused ? 'paused' : one.trouble ? 'hindered' : 'active');
}

/** How long the next time has passed, where it has and nothing was started. @param {any} one @returns {any} */
function lateness(one) {
  const late = one.due ? Date.now() - millis(one.due) : 0;
  return late > 5000 ? h('strong', { class: 'warn' }, `${took(late)} late`) : null;
}

/** What a control is called. @param {Element} control @returns {string} */
const nameOf = (control) => control.getAttribute('aria-label') || control.textContent || '';

/** A view that looks again and again, and draws what is another one. @param {string} title @param {(signal: AbortSignal) => Promise<any>} ask_ @param {(found: any, look: () => Promise<void>) => any} draw @returns {import('./app.js').View} */
export function looking(title, ask_, draw) {
  const closing = new AbortController();
  const element = h('section', null, h('h1', null, title));
  let shown = '';

  async function look() {
    if (document.hidden) return;
    try {
      const found = await ask_(closing.signal);
      const text = JSON.stringify(found);
      if (text === shown) return;
      shown = text;
      // What has the keyboard has it in the new drawing, too.
      const had = element.contains(document.activeElement) ? nameOf(/** @type {Element} */ (document.activeElement)) : '';
      show(element, draw(found, look));
      if (had) [...element.querySelectorAll('button, a, summary')].find((/** @type {Element} */ one) => nameOf(one) === had)?.focus();
    } catch (error) {
      if (closing.signal.aborted) return;
      shown = '';
      show(element, h('h1', null, title), trouble(error));
    }
  }

  look();
  const again = setInterval(look, LOOK_EVERY);
  return {
    element,
    title,
    close: () => {
      clearInterval(again);
      closing.abort();
    },
  };
}

/** All schedules and triggers. @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function schedulesView(person) {
  return looking('Schedules and triggers', async (signal) => {
    const [schedules, triggers] = await Promise.all([all('schedules', {}, 'schedules', signal), all('triggers', {}, 'triggers', signal)]);
    return { schedules, triggers };
  }, ({ schedules, triggers }) => [h('h1', null, 'Schedules and triggers'), scopeHint(person), h('div', { class: 'pools' },
    card('Schedules', schedules, (one) => [h('a', { href: `#/schedules/${encodeURIComponent(one.name)}` }, one.name), state(one), h('span', { class: 'dim' }, one.times), one.due ? h('span', { class: 'dim', title: one.due }, `next ${moment(millis(one.due))}`) : null, lateness(one)], 'noetl schedules put FILE'),
    card('Triggers', triggers, (one) => [h('a', { href: `#/triggers/${encodeURIComponent(one.name)}` }, one.name), state(one), h('span', { class: 'dim' }, one.waits_for)], 'noetl triggers put FILE'))]);
}

/** @param {string} title @param {any[]} rows @param {(one: any) => any} facts @param {string} command */
function card(title, rows, facts, command) {
  return h('section', { class: 'card pool' }, h('header', null, h('h2', null, title), h('span', { class: 'dim' }, String(rows.length))),
    rows.length ? h('ul', null, rows.map((one) => h('li', null, facts(one), h('span', { class: 'gap' }), one.last_execution ? h('span', { class: 'dim' }, 'last ', execution(one.last_execution)) : null, h('span', { class: 'dim' }, one.playbook), one.trouble ? h('span', { class: 'warn' }, prose(one.trouble)) : null)))
      : h('p', { class: 'hint none' }, 'There is none. ', h('code', null, command), ' keeps one.'));
}

/** The crumb, the name, and what may be asked. @param {any} found @param {any[]} acts @param {any[]} facts @param {[string, string]} [above] */
export function heading(found, acts, facts, [place, title] = ['#/schedules', 'Schedules and triggers']) {
  return [h('p', { class: 'crumb' }, h('a', { href: place }, title)),
    h('div', { class: 'title' }, h('h1', null, found.name), state(found), h('span', { class: 'gap' }), h('div', { class: 'acts' }, acts)),
    h('p', { class: 'facts' }, facts), found.trouble ? h('p', { class: 'problem' }, prose(found.trouble)) : null];
}

/** The button that pauses one, or lets it go on. @param {string} at @param {any} found @param {() => Promise<void>} look */
export function pausing(at, found, look) {
  return found.paused ? h('button', { type: 'button', onclick: () => request(`${at}/resume`, look, 'resumed') }, 'Resume') : h('button', { type: 'button', onclick: () => request(`${at}/pause`, look, 'paused') }, 'Pause');
}

/** Ask something without a question before, and look. @param {string} path @param {() => Promise<void>} look @param {string} said */
export async function request(path, look, said) {
  try {
    await post(path, {});
    tell(said);
  } catch (error) {
    tell(wordsOf(error), 'bad');
  }
  await look();
}

/** One schedule. @param {string} name @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function scheduleView(name, person) {
  const at = `schedules/${encodeURIComponent(name)}`;
  return looking(name, (signal) => getShown(at, {}, signal), (found, look) => {
    const spec = found.document.spec || {};
    const acts = person.operates ? [
      h('button', { type: 'button', onclick: () => startNow(at, found, look) }, 'Start now…'),
      h('button', { type: 'button', onclick: () => backfill(at, look) }, 'Backfill…'),
      pausing(at, found, look),
    ] : [];
    const facts = [h('a', { href: `#/playbooks/${encodeURIComponent(found.playbook)}` }, found.playbook), h('span', null, found.times), h('span', null, `overlap: ${spec.overlap || 'skip'}`), lateness(found)];
    return [heading(found, acts, facts), h('div', { class: 'pools' },
      times('Next times', (found.next || []).map((/** @type {string} */ time) => [h('span', { title: time }, moment(millis(time)))]), found.paused ? 'None is started while it is paused.' : 'It never comes again.'),
      times('Last times', (found.last || []).map((/** @type {any} */ row) => [h('span', { title: row.time }, moment(millis(row.time))), h('span', { class: 'dim' }, ago(millis(row.time))), h('span', { class: 'gap' }), row.execution_id ? execution(row.execution_id) : h('span', { class: 'warn' }, whyNot(row))]), 'None has come yet.'),
      document_(found.document))];
  });
}

/** Why a time was not started. @param {any} row @returns {any} */
function whyNot(row) {
  if (row.why === 'skipped') return ['skipped: ', row.running ? execution(row.running) : 'the one before', ' was running'];
  if (row.why === 'missed') return 'missed: no server was there';
  if (row.why === 'quota') return 'refused: its namespace had no place for too long';
  if (row.why === 'refused') return 'refused: it could not be started for too long';
  return row.why === 'paused' ? 'not started: it was paused' : 'not started';
}

/** @param {string} title @param {any[]} rows @param {string} none */
function times(title, rows, none) {
  return h('section', { class: 'card pool' }, h('header', null, h('h2', null, title)), rows.length ? h('ul', null, rows.map((row) => h('li', null, row))) : h('p', { class: 'hint none' }, none));
}

/** What somebody wrote. @param {any} document @returns {HTMLElement} */
export function document_(document) {
  return h('details', { class: 'card' }, h('summary', null, 'Document'), h('pre', { tabIndex: 0 }, jsonText(document, 2)));
}

/** @param {string} at @param {any} found @param {() => Promise<void>} look */
function startNow(at, found, look) {
  const key = keys()(at);
  ask(`Start ${found.playbook} now?`, [h('p', null, 'With now as its time, whatever runs. The times of the schedule stay as they are.')], 'Start', async () => {
    const begun = await post(`${at}/start`, undefined, { 'Idempotency-Key': key });
    tell(`started ${begun.execution_id}`);
    await look();
  });
}

/** @param {string} at @param {() => Promise<void>} look */
function backfill(at, look) {
  const since = h('input', { type: 'datetime-local', required: true, step: 1 });
  const until = h('input', { type: 'datetime-local', required: true, step: 1 });
  const limit = h('input', { type: 'number', required: true, min: '1', max: '1000', value: '100' });
  const would = h('div', { class: 'hint', role: 'status' });
  let asked = '';
  ask('Start times that have passed', [
    field('From', since, 'In your own time zone.'), field('Until', until, 'The time before which the last one is.'), field('At most', limit), would,
  ], 'Start', async () => {
    const body = { since: new Date(since.value).toISOString(), until: new Date(until.value).toISOString(), limit: Number(limit.value) };
    if (asked !== JSON.stringify(body)) {
      // Said first, and started when it is sent once more.
      const told = await post(`${at}/backfill`, { ...body, dry_run: true });
      const fresh = told.starts.filter((/** @type {any} */ row) => row.execution_id === null).length;
      show(would, h('p', null, `${many(fresh, 'time')} would be started, ${told.starts.length - fresh} had a start.`), told.left_out ? h('p', null, `Those from ${moment(millis(told.left_out))} on are left out.`) : null, told.coming ? h('p', null, `Those from ${moment(millis(told.coming))} on are still to come.`) : null);
      asked = JSON.stringify(body);
      throw new Error(fresh ? 'Start them? Send it again.' : 'There is nothing to start.');
    }
    const told = await post(`${at}/backfill`, body);
    tell(`${many(told.starts.filter((/** @type {any} */ row) => row.fresh).length, 'time')} started`);
    await look();
  });
}
