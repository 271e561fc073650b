// The list of executions: filters in the address, live, as many rows as there are, many asked at once.

import { cancel, pause, rerun, resume, signal } from './actions.js';
import { countsPanel, quoted } from './counts.js';
import { badge, h, say, show, sign, wordsOf } from './dom.js';
import { leave } from './lists.js';
import { scopeHint } from './scopes.js';
import { get, server } from './server.js';
import { ago, many, millis, moment, took } from './times.js';

/**
 * @typedef {{execution_id: string, status: string, owned: boolean, playbook: string, started: string, ended: string | null,
 *   parent: string | null, rerun_of?: string | null, error?: string | null, labels?: Record<string, string>, search?: Record<string, any>, now?: {what: string, text: string, due: string | null, more: number} | null}} Row
 */

const STATUSES = ['running', 'paused', 'blocked', 'failed', 'cancelled', 'completed'];
const PAGE = 100;
const LOOK_EVERY = 2000;
const BEYOND = 8;
const LABELS = 3;
const WORDS = ['status:failed', "playbook:'etl/*'", 'version:3', "error:'http.*'", 'label.team:data', 'search.amount:>100', 'started:<7d', 'ended:>2026-11-01', 'took:>10m', 'is:open', '-is:child'];

/** Rows of a page put in their place among those that are there. @param {Row[]} rows @param {Row[]} page @param {number} at @param {boolean} full @returns {Row[] | null} null where nothing of what was there follows the page */
export function merged(rows, page, at, full) {
  if (!full) return [...rows.slice(0, at), ...page];
  const last = page[page.length - 1].execution_id;
  const end = rows.findIndex((row) => row.execution_id === last);
  return end < 0 ? null : [...rows.slice(0, at), ...page, ...rows.slice(end + 1)];
}

/** @param {URLSearchParams} query @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function executionsView(query, person) {
  /** @type {Row[]} */
  let rows = [];
  let more = true;
  /** @type {Promise<void> | null} */
  let loading = null;
  let asked = new AbortController();
  /** @type {Set<string>} */
  const chosen = new Set();
  /** @type {Map<string, ReturnType<typeof rowElement>>} */
  const drawn = new Map();

  const chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Status' });
  const search = h('input', { type: 'search', placeholder: 'Search: shop error:http.* started:<7d  ( / )', 'aria-label': 'Search by words of a query', autocomplete: 'off', spellcheck: false });
  const onlyTop = h('input', { type: 'checkbox' });
  const all = h('input', { type: 'checkbox', 'aria-label': 'Select all that are loaded' });
  const body = h('tbody');
  const above = h('tr', { class: 'space', 'aria-hidden': 'true' });
  const below = h('tr', { class: 'space', 'aria-hidden': 'true' });
  const empty = h('p', { class: 'empty', hidden: true });
  const bar = h('div', { class: 'bar', hidden: true, role: 'region', 'aria-label': 'Selected executions' });
  const table = h('table', { class: `rows ${person.operates ? 'choosing' : ''}`, 'aria-label': 'Executions' },
    h('thead', null, h('tr', null, person.operates && h('th', { class: 'choose' }, all), h('th', null, 'Status'), h('th', null, 'Playbook'), h('th', { class: 'wide' }, 'Now'),
      h('th', { class: 'wide' }, 'Started'), h('th', { class: 'end' }, 'Took'), h('th', { class: 'wide end' }, 'ID'))), body);
  const counted = countsPanel((group) => filter('by', group), (term) => add(term));
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const examples = h('details', { class: 'words' }, h('summary', null, 'Words'), h('div', { class: 'names' }, WORDS.map((word) => h('button', { type: 'button', class: 'chip', onclick: () => add(word) }, word))));
  const element = h('section', { class: 'list' }, h('h1', null, 'Executions'), h('div', { class: 'filters' }, chips, h('label', { class: 'check' }, onlyTop, 'Without children'), counted.select, search), examples, counted.element, scopeHint(person), problem, table, empty, bar);

  const filters = () => ({ status: query.get('status') || '', text: query.get('text') || '', query: query.get('query') || '', top: query.get('top') === 'true' });

  /** Narrow the list by a word. @param {string} term */
  function add(term) {
    const now = (query.get('query') || query.get('text') || '').trim();
    typed(now ? `${/\bor\b/i.test(now) ? `(${now})` : now} ${term}` : term);
  }

  /** Go to the list of another query. @param {string} text */
  function typed(text) {
    query = new URLSearchParams(query);
    query.delete('text');
    filter('query', text);
  }

  /** @param {AbortSignal} stop */
  function drawCounts(stop) {
    const names = new Set(rows.flatMap((row) => [...Object.keys(row.labels || {}).map((name) => `label.${name}`), ...Object.keys(row.search || {}).map((name) => `search.${name}`)]));
    return counted.draw(query.get('by') || '', filters(), names, stop);
  }

  /** Go to the same list with another filter. @param {string} name @param {string} value */
  function filter(name, value) {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    const words = next.toString();
    location.hash = `#/executions${words ? `?${words}` : ''}`;
  }

  /** @param {Record<string, number> | null} counts null where they are not known */
  function drawChips(counts) {
    const now = filters().status;
    const total = Object.values(counts || {}).reduce((sum, count) => sum + count, 0);
    const focused = chips.contains(document.activeElement) ? document.activeElement?.getAttribute('data-status') : null;
    show(chips, ['', ...STATUSES].map((status) => h('button', {
      type: 'button', class: `chip ${status}`, 'aria-pressed': String(status === now), 'data-status': status, onclick: () => filter('status', status),
    }, status ? sign(status) : null, status || 'all', counts && h('small', null, (status ? counts[status] || 0 : total).toLocaleString('en')))));
    if (focused !== null) /** @type {HTMLElement | null} */ (chips.querySelector(`[data-status="${focused}"]`))?.focus();
  }

  const height = () => (matchMedia('(max-width: 720px)').matches ? 64 : 45);

  /** The rows that can be seen, and some around them. @returns {[number, number]} */
  function window_() {
    const size = height();
    const from = Math.floor(-body.getBoundingClientRect().top / size) - BEYOND;
    const count = Math.ceil(innerHeight / size) + 2 * BEYOND;
    const first = Math.max(0, Math.min(from, rows.length - count));
    return [first, Math.min(rows.length, first + count)];
  }

  function draw() {
    const [first, end] = window_();
    const now = Date.now();
    const wanted = rows.slice(first, end);
    const names = new Set(wanted.map((row) => row.execution_id));
    for (const [id, one] of drawn) {
      if (!names.has(id)) {
        one.element.remove();
        drawn.delete(id);
      }
    }
    above.style.height = `${first * height()}px`;
    below.style.height = `${(rows.length - end) * height()}px`;
    let place = above.nextElementSibling;
    wanted.forEach((row, number) => {
      let one = drawn.get(row.execution_id);
      if (!one) {
        one = rowElement(row, person.operates ? choose : null, add);
        drawn.set(row.execution_id, one);
      }
      one.update(row, now, chosen.has(row.execution_id));
      one.element.setAttribute('aria-rowindex', String(first + number + 2));
      if (one.element !== place) body.insertBefore(one.element, place);
      place = one.element.nextElementSibling;
    });
    table.setAttribute('aria-rowcount', String(more ? -1 : rows.length + 1));
    if (more && end + 60 > rows.length) load();
  }

  /** @param {string} id @param {boolean} is */
  function choose(id, is) {
    if (is) chosen.add(id);
    else chosen.delete(id);
    drawBar();
  }

  function drawBar() {
    const open = rows.filter((row) => chosen.has(row.execution_id) && !row.ended).map((row) => row.execution_id);
    const done = rows.filter((row) => chosen.has(row.execution_id) && row.ended && !row.parent).map((row) => row.execution_id);
    const over = chosen.size - open.length;
    bar.hidden = !chosen.size;
    all.checked = chosen.size > 0 && chosen.size === rows.length;
    all.indeterminate = chosen.size > 0 && chosen.size < rows.length;
    const clear = () => {
      chosen.clear();
      drawBar();
      draw();
    };
    show(bar, h('strong', null, `${many(chosen.size, 'execution')} selected`), over ? h('span', { class: 'hint' }, `${over} over`) : null,
      more && all.checked ? h('button', { type: 'button', onclick: chooseAll }, 'Select all that match') : null,
      h('span', { class: 'gap' }),
      h('button', { type: 'button', disabled: !done.length, onclick: () => rerun(done, clear) }, 'Rerun…'),
      h('button', { type: 'button', disabled: !open.length, onclick: () => pause(open, clear) }, 'Pause…'),
      h('button', { type: 'button', disabled: !open.length, onclick: () => resume(open, clear) }, 'Resume…'),
      h('button', { type: 'button', disabled: !open.length, onclick: () => signal(open, [], clear) }, 'Signal…'),
      h('button', { type: 'button', class: 'danger', disabled: !open.length, onclick: () => cancel(open, clear) }, 'Cancel…'),
      h('button', { type: 'button', class: 'bare', onclick: clear }, 'Clear'));
  }

  async function chooseAll() {
    const mine = asked;
    while (more && mine === asked) await load(1000);
    if (mine !== asked) return;
    for (const row of rows) chosen.add(row.execution_id);
    drawBar();
    draw();
  }

  /** Get the rows behind those that are there; where some are on their way, it is they that are waited for. @param {number} [count] */
  function load(count = PAGE) {
    loading ||= loaded(count);
    return loading;
  }

  /** @param {number} count */
  async function loaded(count) {
    const mine = asked;
    const before = rows.length ? rows[rows.length - 1].execution_id : '';
    try {
      const page = await get('executions', { ...filters(), before, limit: count, now: true }, mine.signal);
      if (mine !== asked) return;
      rows = [...rows, ...page.executions];
      more = page.next !== null;
      problem.hidden = true;
    } catch (error) {
      if (mine.signal.aborted) return;
      more = false;
      tellProblem(error);
      return;
    } finally {
      if (mine === asked) loading = null;
    }
    tellEmpty();
    draw();
  }

  /** Get again what can be seen, and what is new at the top. */
  async function refresh() {
    if (document.hidden || loading) return;
    const mine = asked;
    const [first] = window_();
    try {
      for (const at of first > PAGE / 2 ? [0, first] : [0]) {
        const before = at ? rows[at - 1]?.execution_id || '' : '';
        const page = await get('executions', { ...filters(), before, limit: PAGE, now: true }, mine.signal);
        if (mine !== asked || loading) return;
        const full = page.next !== null;
        const next = merged(rows, page.executions, at, full);
        if (!full) more = false;
        rows = next || page.executions;
        if (!next) more = true;
      }
      drawChips(await get('counts', {}, mine.signal));
      if (query.get('by')) await drawCounts(mine.signal);
      if (mine !== asked) return;
      problem.hidden = true;
      tellEmpty();
    } catch (error) {
      if (!mine.signal.aborted) tellProblem(error);
      return;
    }
    draw();
  }

  function tellEmpty() {
    const now = filters();
    empty.hidden = rows.length > 0;
    table.hidden = rows.length === 0;
    show(empty, now.status || now.text || now.query || now.top ? 'No execution is like that.' : ['Nothing has run yet. ', h('a', { href: '#/playbooks' }, 'Playbooks'), ' are started from their pages, or with ', h('code', null, `noetl start PATH --server ${server()}`), '.']);
  }

  /** @param {unknown} error */
  function tellProblem(error) {
    problem.hidden = false;
    show(problem, sign('failed'), wordsOf(error));
    search.setAttribute('aria-invalid', String(Boolean(filters().query)));
    tellEmpty();
    if (!rows.length) empty.hidden = true;
  }

  function reset() {
    asked.abort();
    asked = new AbortController();
    leave('executions', query);
    rows = [];
    more = true;
    loading = null;
    chosen.clear();
    for (const one of drawn.values()) one.element.remove();
    drawn.clear();
    const now = filters();
    const mine = asked;
    if (document.activeElement !== search) search.value = now.query || now.text;
    search.setAttribute('aria-invalid', 'false');
    problem.hidden = true;
    onlyTop.checked = now.top;
    drawBar();
    drawChips(null);
    get('counts', {}, asked.signal).then(drawChips, () => {});
    load().then(() => drawCounts(mine.signal)).catch(() => {});  // what is wrong stands where the rows would
  }

  let typing = 0;
  search.addEventListener('input', () => {
    clearTimeout(typing);
    typing = window.setTimeout(() => typed(search.value.trim()), 250);
  });
  onlyTop.addEventListener('change', () => filter('top', onlyTop.checked ? 'true' : ''));
  all.addEventListener('change', () => {
    if (all.checked) for (const row of rows) chosen.add(row.execution_id);
    else chosen.clear();
    drawBar();
    draw();
  });
  body.append(above, below);
  const scrolled = () => requestAnimationFrame(draw);
  document.addEventListener('scroll', scrolled, { passive: true });
  window.addEventListener('resize', scrolled);
  const looking = setInterval(refresh, LOOK_EVERY);
  reset();

  return {
    element,
    title: 'Executions',
    turn: (next) => {
      query = next;
      reset();
    },
    close: () => {
      asked.abort();
      clearInterval(looking);
      document.removeEventListener('scroll', scrolled);
      window.removeEventListener('resize', scrolled);
    },
  };
}

/** A row, and what brings it up to date. @param {Row} row @param {((id: string, is: boolean) => void) | null} choose @param {(term: string) => void} add */
function rowElement(row, choose, add) {
  const id = row.execution_id;
  const box = choose && h('input', { type: 'checkbox', 'aria-label': `Select ${row.playbook} ${id}`, onchange: () => choose(id, box.checked) });
  const stands = h('td', { class: 'stands' });
  const now = h('td', { class: 'wide now' });
  const started = h('td', { class: 'wide dim', title: moment(millis(row.started)) });
  const lasted = h('td', { class: 'end' });
  const begun = h('span');
  const name = h('td', { class: 'name' }, row.parent ? h('span', { class: 'of', title: `called by ${row.parent}` }, sign('child')) : null, row.rerun_of ? h('span', { class: 'of', title: `a rerun of ${row.rerun_of}` }, sign('again'), h('span', { class: 'unseen' }, 'rerun')) : null,
    h('a', { href: `#/executions/${encodeURIComponent(id)}` }, breakable(row.playbook || '(no path)')), labelsOf(row, add), h('small', { class: 'narrow' }, id.slice(-8), ' · ', begun));
  const element = h('tr', null, box && h('td', { class: 'choose' }, box), stands, name, now, started, lasted, h('td', { class: 'wide end id', title: id }, id));
  let status = '';
  return {
    element,
    /** @param {Row} to @param {number} at @param {boolean} chosen */
    update(to, at, chosen) {
      if (to.status !== status) {
        status = to.status;
        show(stands, badge(status));
      }
      if (box) box.checked = chosen;
      element.classList.toggle('chosen', chosen);
      for (const one of [started, begun]) say(one, ago(millis(to.started), at));
      say(lasted, took((to.ended ? millis(to.ended) : at) - millis(to.started)));
      const does = to.ended ? null : to.now;
      const left = does?.due ? `, in ${took(millis(does.due) - at)}` : '';
      say(now, does ? `${does.text}${left}${does.more ? `, and ${does.more} more` : ''}` : !to.ended && !to.owned ? 'no process drives it' : to.status === 'failed' ? to.error || '' : '');
      now.title = now.textContent || '';
    },
  };
}

/** A path that a narrow screen breaks at its own marks, and not within a word. @param {string} path */
const breakable = (path) => path.split(/(?<=[/_.-])/).flatMap((part) => [part, h('wbr')]);

/** The labels of a row, each of which narrows the list. @param {Row} row @param {(term: string) => void} add */
function labelsOf(row, add) {
  const labels = Object.entries(row.labels || {});
  return labels.length ? h('span', { class: 'labels' }, labels.slice(0, LABELS).map(([name, text]) => h('button', {
    type: 'button', class: 'chip', title: `Only with ${name}=${text}`, onclick: () => add(`label.${name}:${quoted(text)}`),
  }, `${name}=${text}`)), labels.length > LABELS ? '…' : null) : null;
}
