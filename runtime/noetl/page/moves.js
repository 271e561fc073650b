// Moves of an execution that is not over to another version of its playbook: what is in the way, and the move.

import { h, prose, show, wordsOf } from './dom.js';
import { ask, field, tell } from './forms.js';
import { get, getShown, post } from './server.js';
import { versionsOf } from './starting.js';

/** How long is waited for whoever drives it, and between two looks, in milliseconds. */
const [PATIENCE, PAUSE] = [20_000, 250];
/** What the log tells of a move. */
const [MOVED, STAYS] = ['playbook.migrated', 'migration.refused'];

/** Show what is in the way of a move, and ask whether to move it. @param {string} id */
export async function move(id) {
  const place = `executions/${encodeURIComponent(id)}`;
  const look = h('div', { class: 'parts inner', role: 'status' });
  let asked = 0;

  /** @param {string} wanted digest of a version */
  async function draw(wanted) {
    asked += 1;
    const mine = asked;
    go(false);
    show(look, h('p', { class: 'hint' }, 'Looking through its log…'));
    const found = await post(`${place}/migrate`, { playbook_id: wanted, dry_run: true });
    if (mine !== asked) return;
    const hindered = found.hindrances.length > 0;
    // The command line says which command begins a new execution; here is a button for it, once this one is over.
    const over = found.hindrances.some((/** @type {any} */ one) => (one.instead || '').includes('noetl rerun'));
    show(look, hindered ? [h('h3', null, 'In the way'), h('ul', { class: 'hindrances' }, found.hindrances.map((/** @type {any} */ one) => h('li', { class: 'problem' }, prose(one.message))))]
      : h('p', null, 'It can be moved: what ran is the same there, and what it does from here on is what that version says.'),
    over && h('p', { class: 'hint' }, 'Once it is over, “Go on from there…” begins a new execution with that version, and keeps what is the same.'));
    go(!hindered);
  }

  /** @type {HTMLDialogElement | null} */
  let dialog = null;
  let may = false;
  /** Let it be moved, or not. @param {boolean} is */
  function go(is) {
    may = is;
    const button = /** @type {HTMLButtonElement | null} */ (dialog?.querySelector('[type=submit]') || null);
    if (button) button.disabled = !is;
  }

  const failed = (/** @type {any} */ error) => show(look, h('p', { class: 'problem', role: 'alert' }, prose(wordsOf(error))));
  try {
    const row = await get(`${place}/row`);
    const { versions, choice } = await versionsOf(row.playbook, row.plan_digest, (wanted) => draw(wanted).catch(failed), 'which it runs');
    const other = versions.find((one) => one.playbook_id !== row.plan_digest);
    if (!other) {
      tell(`There is no other version of ${row.playbook}: register one first.`, 'bad');
      return;
    }
    choice.value = other.playbook_id;
    dialog = ask('Go on under another version', [
      h('p', { class: 'hint' }, 'It keeps its id and its log. It is moved only where what ran, and what is at work, is the same in both versions.'),
      field('Version', choice), look,
    ], 'Move it', async () => {
      if (!may) return;
      const wanted = choice.value;
      const { events } = await getShown(place);
      await post(`${place}/migrate`, { playbook_id: wanted });
      await heard(place, wanted, events);
    });
    go(may);
    draw(other.playbook_id).catch(failed);
  } catch (error) {
    tell(wordsOf(error), 'bad');
  }
}

/**
 * Wait until the log says what came of a request: whoever drives it looks again before it moves it. Throws why it stays.
 * @param {string} place @param {string} to digest @param {number} after position in the log
 */
async function heard(place, to, after) {
  for (const end = performance.now() + PATIENCE; performance.now() < end;) {
    const page = await getShown(`${place}/events`, { after, limit: 200 });
    after += page.events.length;
    const found = page.events.find((/** @type {any} */ one) => [MOVED, STAYS].includes(one.event_type) && one.payload.to === to);
    if (found?.event_type === STAYS) throw new Error(`It stays with its version: ${found.payload.why.join('; ')}`);
    if (found) {
      tell('It goes on under that version.');
      return;
    }
    await new Promise((done) => setTimeout(done, PAUSE));
  }
  throw new Error('Whoever drives it has not acted yet. The request stays, and the log will say what came of it.');
}
