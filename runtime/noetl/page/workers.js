// Who works here: workers by pool, and what is in the way of each; namespaces, and how far their quotas are used; credentials and tokens by name, for those who may see them.

import { h, show, sign, trouble } from './dom.js';
import { ask, tell } from './forms.js';
import { endWords, scopeWords } from './scopes.js';
import { all, post, Refusal } from './server.js';
import { millis, moment } from './times.js';

const LOOK_EVERY = 3000;
/** The pool of workers that take from all. */
const EVERY = '*';

/** @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function workersView(person) {
  const closing = new AbortController();
  const body = h('div', { class: 'pools' });
  const names = h('div', { class: 'pools' });
  const element = h('section', null, h('h1', null, 'Workers'), body, names);
  let shown = '';

  async function look() {
    if (document.hidden) return;
    try {
      const [workers, pools, namespaces] = await Promise.all([all('workers', {}, 'workers', closing.signal), all('pools', {}, 'pools', closing.signal), all('namespaces', {}, 'namespaces', closing.signal).catch(unseen)]);
      const text = JSON.stringify([workers.map((one) => ({ ...one, heard: 0 })), pools, namespaces]);
      if (text === shown) return;
      shown = text;
      draw(workers, pools, namespaces);
    } catch (error) {
      if (closing.signal.aborted) return;
      shown = '';
      show(body, trouble(error));
    }
  }

  /** @param {any[]} workers @param {any[]} pools @param {any[]} namespaces */
  function draw(workers, pools, namespaces) {
    const every = workers.filter((one) => one.pool === EVERY);
    show(body, every.length ? card('Every pool', every, null) : null, pools.map((pool) => card(`Pool ${pool.name}`, workers.filter((one) => one.pool === pool.name), pool)),
      workers.length ? null : h('p', { class: 'empty' }, 'No worker was heard of in the last seconds.'),
      namespaces.length ? named('Namespaces', namespaces, use, []) : null);
  }

  /** @param {string} title @param {any[]} workers who take from this pool alone @param {any} pool */
  function card(title, workers, pool) {
    const slots = workers.reduce((sum, one) => sum + one.slots, 0);
    const busy = workers.reduce((sum, one) => sum + one.busy, 0);
    const others = pool && pool.workers.length > workers.length;
    return h('section', { class: 'card pool' }, h('header', null, h('h2', null, title), workers.length ? [h('span', { class: 'dim' }, `${busy} of ${slots} slots at work`), meter(busy, slots)] : null,
      others ? h('span', { class: 'dim' }, `${workers.length ? 'also ' : ''}the workers of every pool take from it`) : null, pool?.limit ? h('span', { class: 'dim' }, `at most ${pool.limit} at once`) : null, pool?.hindrance ? h('span', { class: 'warn' }, pool.hindrance) : null),
    workers.length ? h('ul', null, workers.map(row)) : null);
  }

  /** Tokens and credentials by name, as far as the role may see them. */
  async function list() {
    const credentials = person.operates ? await all('credentials', {}, 'credentials', closing.signal) : null;
    const tokens = person.role === 'admin' ? await all('tokens', {}, 'tokens', closing.signal) : null;
    show(names, credentials && named('Credentials', credentials, (one) => [h('span', { class: 'dim' }, one.type), h('span', { class: 'dim' }, `stored ${moment(millis(one.changed))}`)], ['None is kept beside this server. ', h('code', null, 'noetl credential add NAME'), ' stores one.']),
      tokens && named('Tokens', tokens, (one) => [h('span', { class: 'token' }, one.role), h('span', { class: 'dim' }, [scopeWords(one), endWords(one)].filter(Boolean).join(', '))], ['This server has no tokens: everybody who can reach it may do everything. ', h('code', null, 'noetl token add NAME --role viewer'), ' makes one.']));
  }

  /** @param {any} worker */
  function row(worker) {
    const { name, state, busy, slots, reason } = worker;
    const local = name === 'server';
    const mark = state === 'ready' ? 'completed' : state === 'unready' ? 'failed' : 'paused';
    return h('li', null, h('strong', null, local ? 'this server' : name), h('span', { class: `badge ${mark}` }, sign(mark), state),
      h('span', { class: 'dim' }, `${busy} of ${slots} at work`), meter(busy, slots), reason ? h('span', { class: 'warn' }, reason) : null, h('span', { class: 'gap' }),
      person.operates && !local ? h('button', { type: 'button', onclick: () => drain(name) }, 'Let it leave…') : null);
  }

  /** @param {string} name */
  function drain(name) {
    ask(`Let ${name} leave?`, [h('p', null, 'It takes no more, finishes what it has, and ends.')], 'Let it leave', async () => {
      await post(`workers/${encodeURIComponent(name)}/drain`);
      tell('drain: asked');
    });
  }

  look();
  list().catch((error) => {
    if (!closing.signal.aborted) show(names, trouble(error));
  });
  const looking = setInterval(look, LOOK_EVERY);
  return {
    element,
    title: 'Workers',
    close: () => {
      clearInterval(looking);
      closing.abort();
    },
  };
}

/** Those who keep to scopes see no namespaces. @param {unknown} error @returns {any[]} */
function unseen(error) {
  if (error instanceof Refusal && (error.status === 403 || error.status === 404)) return [];
  throw error;
}

/** How far the quotas of a namespace are used. @param {any} one */
function use(one) {
  const { open_executions: most, burst } = one.quotas;
  return [h('span', { class: 'dim' }, one.prefix), one.paused ? h('span', { class: 'badge paused' }, sign('paused'), 'paused') : null,
    h('span', { class: 'dim' }, most ? `${one.open} of ${most} open` : `${one.open} open`), most ? meter(one.open, most, 'Open executions') : null,
    burst ? h('span', { class: 'dim' }, `${one.starts_left} of ${burst} starts left`) : null, h('span', { class: 'dim' }, `weight ${one.weight}`),
    Object.entries(one.pools).map(([pool, number]) => h('span', { class: 'dim' }, `at most ${number} at work in ${pool}`))];
}

/** A list of names. @param {string} title @param {any[]} rows @param {(one: any) => any} facts @param {any[]} none */
function named(title, rows, facts, none) {
  return h('section', { class: 'card pool' }, h('header', null, h('h2', null, title), h('span', { class: 'dim' }, String(rows.length))), rows.length ? h('ul', null, rows.map((one) => h('li', null, h('strong', null, one.name), facts(one)))) : h('p', { class: 'hint none' }, none));
}

/** @param {number} busy @param {number} slots @param {string} [label] */
function meter(busy, slots, label = 'Slots at work') {
  return h('meter', { min: 0, max: Math.max(slots, 1), value: busy, 'aria-label': label });
}
