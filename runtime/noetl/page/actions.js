// What may be asked of executions, one or many: signal, pause, resume, cancel.

import { h, show, wordsOf } from './dom.js';
import { ask, field, jsonOf, tell } from './forms.js';
import { post, Refusal } from './server.js';
import { many } from './times.js';

const AT_ONCE = 6;

/** What some executions refused; `unfit` where the request does not fit the playbook of one. */
class Refused extends Error {
  /** @param {string} text @param {string[]} ids @param {boolean} unfit */
  constructor(text, ids, unfit) {
    super(text);
    this.ids = ids;
    this.unfit = unfit;
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
  const progress = h('p', { class: 'hint', role: 'status' });
  ask(`Cancel ${words}?`, [h('p', null, 'What runs is stopped. Compensation and final steps still run, where the playbook has them.'), progress], ids.length === 1 ? 'Cancel it' : 'Cancel them', async () => {
    await each(ids, 'cancel', undefined, progress);
    after();
  }, 'danger');
}

/** Ask for a signal to send. @param {string[]} ids @param {string[]} names those that are waited for @param {() => void} [after] */
export function signal(ids, names, after = () => {}) {
  const name = h('input', { required: true, maxLength: 512, value: names[0] || '', autocomplete: 'off' });
  const data = h('textarea', { rows: 4, spellcheck: false, placeholder: '{"approved": true}' });
  const progress = h('p', { class: 'hint', role: 'status' });
  let left = ids;
  /** The name that nothing waits for, once somebody was told. */
  let doubted = '';
  const known = names.length > 1 && h('p', { class: 'chips' }, names.map((one) => h('button', { type: 'button', class: 'chip', onclick: () => { name.value = one; } }, one)));
  ask(ids.length === 1 ? 'Send a signal' : `Send a signal to ${many(ids.length, 'execution')}`, [
    field('Name', name), known, field('Data (JSON)', data, 'Empty sends none.'), progress,
  ], 'Send', async () => {
    const value = jsonOf(data.value, 'The data');
    try {
      await each(left, 'signal', { name: name.value, data: value === undefined ? null : value, anyway: name.value === doubted }, progress);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      left = error.ids;  // the others have it already
      if (!error.unfit) throw error;
      doubted = name.value;
      throw new Error(`${error.message}. Send it again if that is meant.`, { cause: error });
    }
    after();
  });
}

/** Ask the same of many, some at once; throws what went wrong with how many. @param {string[]} ids @param {string} verb @param {any} body @param {Element} progress */
async function each(ids, verb, body, progress) {
  const left = [...ids];
  /** @type {string[]} */
  const wrong = [];
  /** @type {string[]} */
  const refused = [];
  let unfit = false;
  let done = 0;
  const work = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      try {
        await post(place(id, verb), body);
      } catch (error) {
        wrong.push(wordsOf(error));
        refused.push(id);
        unfit ||= error instanceof Refusal && error.status === 400;
      }
      done += 1;
      if (ids.length > 1) show(progress, `${done} of ${ids.length}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (wrong.length) throw new Refused(ids.length === 1 ? wrong[0] : `${wrong.length} of ${ids.length} were refused: ${wrong[0]}`, refused, unfit);
  tell(ids.length === 1 ? `${verb}: asked` : `${verb}: asked of ${many(ids.length, 'execution')}`);
}
