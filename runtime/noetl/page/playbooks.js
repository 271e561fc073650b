// The catalogue: playbooks and their versions, what is proved of one, its picture, and a form that starts it.

import { differences } from './differences.js';
import { h, prose, show, sign, trouble, wordsOf } from './dom.js';
import { findingsOf, marks, notes, summary } from './findings.js';
import { back, leave, stand } from './lists.js';
import { jsonText } from './numbers.js';
import { picture, placePicture } from './picture.js';
import { scopeHint } from './scopes.js';
import { all, get, getShown, postText, server } from './server.js';
import { linesOf, listing, reveal } from './source.js';
import { declaredIn, start } from './starting.js';
import { many } from './times.js';

/** @param {string} path */
const link = (path) => `#/playbooks/${encodeURIComponent(path)}`;

/** @param {URLSearchParams} query @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function playbooksView(query, person) {
  const closing = new AbortController();
  const search = h('input', { type: 'search', placeholder: 'Search  ( / )', 'aria-label': 'Search by path', autocomplete: 'off', value: query.get('text') || '' });
  const list = h('ul', { class: 'catalogue' });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const file = h('input', { type: 'file', accept: '.yaml,.yml', hidden: true, 'aria-label': 'File of a playbook', onchange: register });
  const element = h('section', null, h('h1', null, 'Playbooks'), h('div', { class: 'filters' }, person.operates ? [h('button', { type: 'button', onclick: () => file.click() }, 'Register…'), file] : null, search), scopeHint(person), problem, list);
  /** @type {any[]} */
  let rows = [];
  function draw() {
    const text = search.value.trim().toLowerCase();
    const found = rows.filter((row) => row.path.toLowerCase().includes(text));
    show(list, found.slice(0, 500).map((row) => h('li', null, h('a', { href: link(row.path) }, row.path), h('small', null, many(row.version, 'version')), h('code', { class: 'dim' }, row.playbook_id.slice(0, 12)))),
      found.length > 500 ? h('li', { class: 'hint' }, `${many(found.length - 500, 'playbook')} more: search for one`) : null,
      found.length ? null : h('li', { class: 'empty' }, rows.length ? 'No playbook is called that.' : ['No playbook is here yet. ', h('code', null, `noetl register FILE --server ${server()}`), ' brings one.']));
  }

  /** Register the playbook of a file, and go to it. */
  async function register() {
    const chosen = file.files?.[0];
    if (!chosen) return;
    problem.hidden = true;
    try {
      const row = await postText('playbooks', await chosen.text(), { name: chosen.name });
      location.hash = link(row.path);
    } catch (error) {
      problem.hidden = false;
      show(problem, prose(wordsOf(error)));
    }
    file.value = '';
  }

  search.addEventListener('input', () => {
    stand('playbooks', new URLSearchParams(search.value ? { text: search.value } : {}));
    draw();
  });
  leave('playbooks', query);
  all('playbooks', { newest: true }, 'playbooks', closing.signal).then((found) => {
    rows = found;
    draw();
  }, (error) => {
    if (!closing.signal.aborted) show(list, h('li', { class: 'empty' }, sign('failed'), error.message));
  });
  return { element, title: 'Playbooks', close: () => closing.abort() };
}

/** @param {string} path @param {URLSearchParams} query @param {import('./app.js').Person} person @returns {import('./app.js').View} */
export function playbookView(path, query, person) {
  const closing = new AbortController();
  const stage = h('div', { class: 'card pictured' });
  const facts = h('div', { class: 'panel', tabIndex: 0, role: 'region', 'aria-label': 'Takes and needs' });
  const proofs = h('div', { class: 'panel' }, h('p', { class: 'hint' }, 'Asking the analysis…'));
  const source = h('div', { class: 'panel' });
  const found = h('div', { class: 'panel' });
  const compared = h('div');
  const head = h('div', { class: 'head' });
  const element = h('section', { class: 'execution' }, head, h('div', { class: 'two' }, stage, h('aside', { class: 'card side' }, h('header', null, h('h2', null, 'Takes and needs')), facts)),
    h('section', { class: 'card' }, h('header', null, h('h2', null, 'What is proved')), proofs), compared, h('section', { class: 'card' }, h('header', null, h('h2', null, 'Source')), found, source));
  const go = (/** @type {number} */ line) => reveal(source, line);
  let asked = 0;

  /** The address of a version beside another one. @param {string} version @param {string} other */
  const chosen = (version, other) => `${link(path)}?${new URLSearchParams({ version, ...(other && other !== version ? { with: other } : {}) })}`;

  /** Show the source, and what lint finds in it at its lines. @param {string} digest @param {() => boolean} still */
  async function annotate(digest, still) {
    show(found);
    const lines = await linesOf(digest);
    if (!still()) return;
    if (!lines) {
      show(source, h('p', { class: 'hint' }, 'It came as a plan, without its source.'));
      return;
    }
    show(source, listing(lines, 1, null));
    show(found, h('p', { class: 'hint' }, 'Asking lint…'));
    try {
      const told = await findingsOf(digest, closing.signal);
      if (!still()) return;
      show(found, summary(told, go));
      if (told.findings.length) show(source, listing(lines, 1, null, notes(told.findings), marks(told.findings)));
    } catch (error) {
      if (still() && !closing.signal.aborted) show(found, h('p', { class: 'problem' }, prose(wordsOf(error))));
    }
  }

  /** @param {URLSearchParams} now */
  async function draw(now) {
    asked += 1;
    const mine = asked;
    const versions = await all('playbooks', { path }, 'playbooks', closing.signal);
    if (mine !== asked) return;
    const row = versions.find((one) => String(one.version) === now.get('version')) || versions[0];
    if (!row) {
      show(element, h('p', { class: 'empty' }, 'There is no such playbook. ', h('a', { href: '#/playbooks' }, 'All playbooks')));
      return;
    }
    const choice = h('select', { 'aria-label': 'Version', onchange: () => {
      location.hash = chosen(choice.value, now.get('with') || '');
    } }, versions.map((one) => h('option', { value: one.version, selected: one === row }, `version ${one.version}`)));
    const about = h('div', { class: 'about' });
    const outline = await getShown(`plans/${row.playbook_id}/outline`, {}, closing.signal);
    if (mine !== asked) return;
    show(head, h('p', { class: 'crumb' }, h('a', { href: back('playbooks') }, 'Playbooks'), ' / ', h('code', null, row.playbook_id.slice(0, 16))),
      h('div', { class: 'title' }, h('h1', null, path), h('div', { class: 'version' }, choice), h('span', { class: 'gap' }), h('div', { class: 'acts' },
        h('a', { class: 'button', href: `#/executions?text=${encodeURIComponent(path)}` }, 'Executions'), person.operates ? h('button', { type: 'button', class: 'primary', onclick: () => start(row, outline) }, 'Start…') : null)),
      h('p', { class: 'facts' }, h('span', null, many(outline.steps, 'step')), h('span', null, many(outline.tasks, 'task')), h('span', null, outline.source)), about);
    // Of one that came as a plan nothing is known.
    get(`plans/${row.playbook_id}/metadata`, {}, closing.signal).then(({ metadata: { description, ...others } }) => {
      if (mine === asked) show(about, description && h('p', null, description), Object.keys(others).length ? h('p', { class: 'facts' }, Object.entries(others).map(([name, text]) => h('span', null, `${name}: ${text}`))) : null);
    }, () => {});
    const drawn = picture(row.playbook_id, (step) => drawn.mark(step));
    placePicture(stage, drawn);
    show(facts, h('h3', null, 'Inputs'), takes(outline), names('Credentials', outline.credentials.map((/** @type {any} */ one) => `${one.name} (${one.kind})`)), names('Pools', outline.pools), names('Kinds', outline.kinds), names('Calls', outline.children));
    const other = versions.find((one) => String(one.version) === now.get('with') && one !== row);
    show(compared, versions.length > 1 ? differences(row, other, versions, (version) => {
      location.hash = chosen(String(row.version), version);
    }, go, closing.signal) : null);
    annotate(row.playbook_id, () => mine === asked);
    try {
      const proved = await get(`plans/${row.playbook_id}/verdicts`, {}, closing.signal);
      if (mine === asked) show(proofs, verdicts(proved, drawn));
    } catch (error) {
      if (mine === asked) show(proofs, h('p', { class: 'problem' }, prose(wordsOf(error))));
    }
  }

  draw(query).catch((error) => {
    if (!closing.signal.aborted) show(element, trouble(error));
  });
  return { element, title: path, turn: (now) => draw(now), close: () => closing.abort() };
}

/** @param {any} outline */
function takes(outline) {
  const rows = declaredIn(outline);
  return rows.length ? h('dl', { class: 'values' }, rows.map((one) => [h('dt', null, one.name, one.required ? h('small', { class: 'warn' }, ' must be brought') : null),
    h('dd', null, one.schema.description ? h('p', { class: 'hint' }, one.schema.description) : null, one.value === undefined ? null : h('pre', { class: 'value' }, jsonText(one.value)))])) : h('p', { class: 'hint' }, 'It takes none.');
}

/** @param {string} title @param {string[]} found */
function names(title, found) {
  return found.length ? [h('h3', null, title), h('p', { class: 'names' }, found.map((one) => h('span', { class: 'token' }, one)))] : null;
}

/** @param {any} found @param {{mark: (step: string) => void}} drawn */
function verdicts(found, drawn) {
  const signs = /** @type {Record<string, string>} */ ({ proved: 'completed', refuted: 'failed', unknown: 'blocked' });
  const rows = found.verdicts.map((/** @type {any} */ one) => h('li', null, h('span', { class: `badge ${signs[one.status] || 'idle'}` }, sign(signs[one.status] || 'blocked'), one.status), h('strong', null, prose(one.question)), h('span', { class: 'dim' }, prose(one.detail))));
  const steps = (found.steps || []).map((/** @type {any} */ one) => h('tr', null, h('th', null, h('button', { type: 'button', class: 'bare', onclick: () => drawn.mark(one.step) }, one.step)), h('td', null, one.runs ?? 'no limit is known'), h('td', null, one.at_once ?? 'no limit is known'), h('td', { class: 'dim' }, one.beside.slice(0, 8).join(', '))));
  return [h('ul', { class: 'verdicts' }, rows), found.assumptions.length ? h('p', { class: 'hint' }, 'Where ', prose(found.assumptions.join('; ')), '.') : null,
    steps.length ? h('details', null, h('summary', null, 'How often each step can run, and beside what'), h('table', { class: 'pairs bounds' }, h('thead', null, h('tr', null, ['Step', 'Runs at most', 'At once', 'Can run beside'].map((name) => h('th', null, name)))), h('tbody', null, steps))) : null];
}
