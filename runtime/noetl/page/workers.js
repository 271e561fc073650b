// Who works here: workers by pool, and what is in the way of each.

import { h, show, sign, trouble } from './dom.js';
import { ask, tell } from './forms.js';
import { get, post } from './server.js';

const LOOK_EVERY = 3000;

/** @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function workersView(person) {
  const closing = new AbortController();
  const body = h('div', { class: 'pools' });
  const element = h('section', null, h('h1', null, 'Workers'), body);
  let shown = '';

  async function look() {
    if (document.hidden) return;
    try {
      const found = (await get('workers', { limit: 1000 }, closing.signal)).workers;
      const text = JSON.stringify(found);
      if (text === shown) return;
      shown = text;
      draw(found);
    } catch (error) {
      if (closing.signal.aborted) return;
      shown = '';
      show(body, trouble(error));
    }
  }

  /** @param {any[]} found */
  function draw(found) {
    /** @type {Map<string, any[]>} */
    const pools = new Map();
    for (const worker of found) pools.set(worker.pool || '', [...(pools.get(worker.pool || '') || []), worker]);
    show(body, found.length ? [...pools].map(([pool, workers]) => {
      const slots = workers.reduce((sum, one) => sum + (one.slots || 0), 0);
      const busy = workers.reduce((sum, one) => sum + (one.busy || 0), 0);
      return h('section', { class: 'card pool' }, h('header', null, h('h2', null, pool === '*' || !pool ? 'Every pool' : `Pool ${pool}`), h('span', { class: 'dim' }, `${busy} of ${slots} slots at work`), meter(busy, slots)), h('ul', null, workers.map(row)));
    }) : h('p', { class: 'empty' }, 'No worker was heard of in the last seconds.'));
  }

  /** @param {any} worker */
  function row(worker) {
    const state = worker.leaving ? 'leaving' : worker.state || (worker.unready ? 'unready' : 'ready');
    const why = worker.reason || worker.unready || '';
    const local = worker.name === 'server';
    return h('li', null, h('strong', null, local ? 'this server' : worker.name), h('span', { class: `badge ${state === 'ready' ? 'completed' : state === 'unready' ? 'failed' : 'paused'}` }, sign(state === 'ready' ? 'completed' : state === 'unready' ? 'failed' : 'paused'), state),
      h('span', { class: 'dim' }, `${worker.busy ?? 0} of ${worker.slots ?? 0} at work`), meter(worker.busy || 0, worker.slots || 0), why ? h('span', { class: 'warn' }, String(why)) : null, h('span', { class: 'gap' }),
      person.operates && !local ? h('button', { type: 'button', onclick: () => drain(worker.name) }, 'Let it leave…') : null);
  }

  /** @param {string} name */
  function drain(name) {
    ask(`Let ${name} leave?`, [h('p', null, 'It takes no more, finishes what it has, and ends.')], 'Let it leave', async () => {
      await post(`workers/${encodeURIComponent(name)}/drain`);
      tell('drain: asked');
    });
  }

  look();
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

/** @param {number} busy @param {number} slots */
function meter(busy, slots) {
  return h('meter', { min: 0, max: Math.max(slots, 1), value: busy, 'aria-label': 'Slots at work' });
}
