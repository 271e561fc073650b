// What may be asked of executions, one or many: signal, pause, resume, cancel.

import { h, show, wordsOf } from './dom.js';
import { ask, field, jsonOf, tell } from './forms.js';
import { post } from './server.js';
import { many } from './times.js';

/** Executions of one request: the server takes 1,000, and who waits wants to see that it goes on. */
const AT_ONCE = 200;
/** Executions that refused which are named. */
const NAMED = 20;

/** @typedef {{execution_id: string, playbook?: string, status?: string, outcome: string, why?: string}} Outcome */

/** What some executions refused. */
class Refused extends Error {
  /** @param {string} text @param {string[]} ids */
  constructor(text, ids) {
    super(text);
    this.ids = ids;
  }
}

/** @param {string} id @param {string} verb */
const place = (id, verb) => `executions/${encodeURIComponent(id)}/${verb}`;

/** Ask one thing of one execution. @param {string} id @param {string} verb @param {any} [body] */
export async function request(id, verb, body) {
  try {
    await post(place(id, verb), body);
    tell(`${verb}: asked`);
  } catch (error) {
    tell(wordsOf(error), 'bad');
  }
}

/** Ask whether to cancel. @param {string[]} ids @param {() => void} [after] */
export function cancel(ids, after = () => {}) {
  const words = ids.length === 1 ? `execution ${ids[0]}` : many(ids.length, 'execution');
  const progress = h('div', { class: 'hint', role: 'status' });
  ask(`Cancel ${words}?`, [h('p', null, 'What runs is stopped. Compensation and final steps still run, where the playbook has them.'), progress], ids.length === 1 ? 'Cancel it' : 'Cancel them', async () => {
    await each(ids, 'cancel', {}, progress);
    after();
  }, 'danger');
  if (ids.length > 1) tryOut(ids, 'cancel', {}, progress);
}

/** Ask for a signal to send. @param {string[]} ids @param {string[]} names those that are waited for @param {() => void} [after] */
export function signal(ids, names, after = () => {}) {
  const name = h('input', { required: true, maxLength: 512, value: names[0] || '', autocomplete: 'off' });
  const data = h('textarea', { rows: 4, spellcheck: false, placeholder: '{"approved": true}' });
  const progress = h('div', { class: 'hint', role: 'status' });
  let left = ids;
  /** The name that nothing waits for, once somebody was told. */
  let doubted = '';
  const known = names.length > 1 && h('p', { class: 'chips' }, names.map((one) => h('button', { type: 'button', class: 'chip', onclick: () => { name.value = one; } }, one)));
  ask(ids.length === 1 ? 'Send a signal' : `Send a signal to ${many(ids.length, 'execution')}`, [
    field('Name', name), known, field('Data (JSON)', data, 'Empty sends none.'), progress,
  ], 'Send', async () => {
    const value = jsonOf(data.value, 'The data');
    const said = { name: name.value, data: value === undefined ? null : value, anyway: name.value === doubted };
    try {
      await each(left, 'signal', said, progress);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      left = error.ids;  // the others have it already
      // Refused for the name alone: it is asked about once, and then sent.
      const unfit = !said.anyway && (await outcomes(left, 'signal', { ...said, anyway: true, dry_run: true })).some((one) => one.outcome === 'fits');
      if (!unfit) throw error;
      doubted = name.value;
      throw new Error(`${error.message}. Send it again if that is meant.`, { cause: error });
    }
    after();
  });
}

/** Ask whether to do something, for which nothing else is to be said. @param {string} verb @param {string} title @param {string} text @param {string[]} ids @param {() => void} after */
function confirmed(verb, title, text, ids, after) {
  const progress = h('div', { class: 'hint', role: 'status' });
  ask(`${title} ${ids.length === 1 ? `execution ${ids[0]}` : many(ids.length, 'execution')}?`, [h('p', null, text), progress], title, async () => {
    await each(ids, verb, {}, progress);
    after();
  });
  tryOut(ids, verb, {}, progress);
}

/** Ask whether to pause. @param {string[]} ids @param {() => void} [after] */
export const pause = (ids, after = () => {}) => confirmed('pause', 'Pause', 'Nothing new starts in them; what runs comes to its end.', ids, after);

/** Ask whether to resume. @param {string[]} ids @param {() => void} [after] */
export const resume = (ids, after = () => {}) => confirmed('resume', 'Resume', 'Those that are paused go on.', ids, after);

/** Ask whether to rerun. @param {string[]} ids @param {() => void} [after] */
export const rerun = (ids, after = () => {}) => confirmed('rerun', 'Rerun', 'Each begins again where it failed, as a new execution that keeps the results of what ran before. One that has a rerun already is left.', ids, after);

/** What became of a request to many. @param {string[]} ids @param {string} verb @param {any} body @param {(done: number) => void} [heard] @returns {Promise<Outcome[]>} */
async function outcomes(ids, verb, body, heard = () => {}) {
  /** @type {Outcome[]} */
  const found = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    found.push(...(await post(`executions/${verb}`, { ...body, ids: ids.slice(at, at + AT_ONCE) })).executions);
    heard(found.length);
  }
  return found;
}

/** Say before anything is asked which executions would refuse. @param {string[]} ids @param {string} verb @param {any} body @param {Element} progress */
async function tryOut(ids, verb, body, progress) {
  try {
    const wrong = (await outcomes(ids, verb, { ...body, dry_run: true })).filter((one) => one.outcome === 'refused');
    if (wrong.length && !progress.childElementCount) show(progress, h('p', null, `${wrong.length} of ${ids.length} will refuse it:`), refusals(wrong));
  } catch {
    // what is in the way is told when it is asked
  }
}

/** @param {Outcome[]} wrong */
function refusals(wrong) {
  return h('ul', { class: 'refusals' }, wrong.slice(0, NAMED).map((one) => h('li', null, h('a', { href: `#/executions/${encodeURIComponent(one.execution_id)}` }, one.playbook || one.execution_id), ' ', one.why)), wrong.length > NAMED ? h('li', null, `and ${wrong.length - NAMED} more`) : null);
}

/** Ask the same of many; throws what went wrong with how many. @param {string[]} ids @param {string} verb @param {any} body @param {Element} progress */
async function each(ids, verb, body, progress) {
  const found = await outcomes(ids, verb, body, (done) => ids.length > 1 && show(progress, h('p', null, `${done} of ${ids.length}`)));
  const wrong = found.filter((one) => one.outcome === 'refused');
  if (wrong.length) {
    if (ids.length > 1) show(progress, refusals(wrong));
    throw new Refused(ids.length === 1 ? String(wrong[0].why) : `${wrong.length} of ${ids.length} were refused: ${wrong[0].why}`, wrong.map((one) => one.execution_id));
  }
  tell(ids.length === 1 ? `${verb}: asked` : `${verb}: asked of ${many(ids.length, 'execution')}`);
}
