// One execution: how it stands, its picture and timeline at any event of its log, and what may be asked of it.

import { cancel, request, signal } from './actions.js';
import { children } from './children.js';
import { badge, execution, h, prose, say, show, sign, trouble, wordsOf } from './dom.js';
import { failedChildren, problem } from './failures.js';
import { tell } from './forms.js';
import { Frames } from './frames.js';
import { items } from './items.js';
import { back } from './lists.js';
import { log } from './log.js';
import { move } from './moves.js';
import { output } from './output.js';
import { picture, placePicture } from './picture.js';
import { rerun } from './reruns.js';
import { cause } from './schedules.js';
import { follow, get, getShown, Refusal } from './server.js';
import { startAgain } from './starting.js';
import { draw, heading, LISTED, value, values } from './step.js';
import { rangeIn, timeline } from './timeline.js';
import { ago, clock, many, millis, moment, took } from './times.js';

const REST = 160;
const LIVE = 400;
/** How executions that are over are told. @type {Record<string, string>} */
const OVER = { completed: 'It completed.', failed: 'It failed.', cancelled: 'It was cancelled.' };
/** Events after which an execution stands otherwise than before. */
const TOLD = new Set(['playbook.paused', 'playbook.resumed', 'playbook.cancelled', 'playbook.queued', 'playbook.placed', 'phase.started', 'workflow.finished']);
const MOVED = 'playbook.migrated';
/** A position behind every log: what stands there is the newest. */
const NEWEST = Number.MAX_SAFE_INTEGER;

/** @param {string} id @param {URLSearchParams} query @param {import('./app.js').Person} person @param {() => void} renew draws all of it anew @returns {import('./app.js').View} */
export function executionView(id, query, person, renew) {
  const closing = new AbortController();
  const place = `executions/${encodeURIComponent(id)}`;
  const element = h('section', { class: 'execution' });
  /** @type {any} */
  let document_ = null;
  /** @type {Frames | null} */
  let frames = null;
  /** @type {ReturnType<typeof picture> | null} */
  let drawn = null;
  let position = 0;
  let live = true;
  let step = query.get('step') || '';
  let tab = query.get('tab') || (step ? 'step' : 'now');
  let resting = 0;
  let calm = REST;
  let asking = false;
  let playing = 0;
  let most = LISTED;

  const head = h('div', { class: 'head' });
  const failure = h('div', { class: 'failure', hidden: true });
  const range = h('input', { type: 'range', min: 0, max: 0, value: 0, 'aria-label': 'Event of the log' });
  const where = h('output', { class: 'where' });
  const stands = h('span');
  const follows = h('button', { type: 'button', class: 'chip', title: 'Show the newest event, always' }, 'live');
  const play = h('button', { type: 'button', class: 'bare', 'aria-label': 'Play' }, sign('play'));
  const lost = h('span', { class: 'problem', hidden: true }, 'The connection was lost. Trying again…');
  const slider = h('div', { class: 'slider' },
    button('first', 'First event', () => go(1)), button('previous', 'Event before', () => go(position - 1)), play, button('next', 'Next event', () => go(position + 1)),
    button('last', 'Last event', () => go(Infinity)), range, where, stands, follows, lost);
  const tabs = h('div', { class: 'tabs', role: 'tablist' });
  const topic = h('div', { hidden: true });
  const panel = h('div');
  const listed = h('div', { hidden: true });
  const printed = h('div', { hidden: true });
  const side = h('aside', { class: 'card side' }, tabs, h('div', { class: 'panel', role: 'tabpanel', tabIndex: 0 }, topic, listed, panel, printed));
  const stage = h('div', { class: 'card pictured' });
  const bars = timeline(id, choose, () => document_ !== null && document_.ended !== null, rangeIn(query.get('zoom')), zoom);
  const called = children(id, () => bars.bars(), closing.signal);
  const events = log(id, (at) => go(at));
  // The failure comes and goes with what the slider is at, which must not move away under the pointer.
  show(element, head, slider, failure, h('div', { class: 'two' }, stage, side), bars.element, called.element, events.element);

  /** @param {string} name @param {string} label @param {() => void} act */
  function button(name, label, act) {
    return h('button', { type: 'button', class: 'bare', 'aria-label': label, title: label, onclick: act }, sign(name));
  }

  const crumb = () => h('p', { class: 'crumb' }, h('a', { href: back('executions') }, 'Executions'), ' / ', h('code', null, id));

  async function begin() {
    let row;
    try {
      row = await get(`${place}/row`, {}, closing.signal);
      // A long log takes seconds to be read: what is known without it is there at once.
      show(head, crumb(), h('div', { class: 'title' }, h('h1', null, row.playbook), badge(row.status)), h('p', { class: 'facts', role: 'status' }, 'Reading its log…'));
      drawn = picture(row.plan_digest, choose);
      placePicture(stage, drawn);
      // Which steps can no longer run is known of those that are in the picture.
      drawn.drawing.then(() => now && tab === 'now' && drawPanel());
      // Neither waits for the log to be read whole.
      events.from(0);
      called.refresh();
      document_ = await getShown(place, {}, closing.signal);
    } catch (error) {
      if (!closing.signal.aborted) show(element, trouble(error));
      return;
    }
    document_.digest = row.plan_digest;
    frames = new Frames(id, document_.events);
    const at = query.get('at');
    live = at === null;
    const there = go(at === null ? document_.events : Number(at) || 0, live);
    drawHead();
    bars.refresh().then(called.draw, () => {});
    events.grew();  // what came while the log was read
    await there;
    if (!document_.ended) watch();
    if (!step) return;
    const wanted = tab;
    choose(step);
    if (wanted !== tab) turn(wanted);
  }

  function watch() {
    let due = 0;
    let looked = -LIVE;
    const grown = async () => {
      due = 0;
      looked = performance.now();
      if (closing.signal.aborted || !frames) return;
      range.max = String(frames.total);
      if (live) await go(frames.total, true);
      else drawWhere();
      tellCounts();
      bars.refresh();
      events.grew();
      listing?.refresh();
    };
    follow(id, frames?.total || 0, (at, event) => {
      if (frames) frames.total = Math.max(frames.total, at);
      // Under another plan the picture and all that stands beside it are others.
      if (event.event_type === MOVED) {
        renew();
        return;
      }
      // What somebody asked for is told at once: its button is another one from then on.
      if (TOLD.has(event.event_type)) stand();
      // The first event after a rest is shown at once, and those of a stream of them some at a time.
      if (!due) due = window.setTimeout(grown, Math.max(0, looked + LIVE - performance.now()));
    }, (connected) => {
      streams = connected;
      reach(connected);
    }, () => shown?.refresh(), closing.signal).then(async () => {
      if (closing.signal.aborted) return;
      await grown();
      await stand();
      called.refresh();
    });
    let ticks = 0;
    const looking = setInterval(() => {
      if (document_.ended) clearInterval(looking);
      else if (!document.hidden) {
        tellCounts();
        if ((ticks += 1) % 2) return;
        stand();
        bars.draw();
      }
    }, 1000);
    closing.signal.addEventListener('abort', () => clearInterval(looking));
  }

  /** How it stands now, whatever is looked at. */
  async function stand() {
    try {
      document_ = { ...(await getShown(place, {}, closing.signal)), digest: document_.digest };
    } catch (error) {
      // Whoever is offline has a stream that does not end, and hears nothing in it.
      if (error instanceof Refusal && error.status === 0) reach(false);
      return;
    }
    reach(streams);
    drawHead();
  }

  let streams = true;
  /** Say whether what comes, comes: without a connection nothing here is live. @param {boolean} is */
  function reach(is) {
    lost.hidden = is;
    drawn?.live(live && is);
    drawWhere();
  }

  const [since, lasts, tasks, retries, logged] = [h('span'), h('span'), h('span'), h('span'), h('span')];
  /** Tell how long it takes, and how much it has done: as far as the slider says, where that follows. */
  function tellCounts() {
    const d = document_;
    const seen = live && frames && frames.total >= d.events && frames.has(frames.total) ? frames.state(frames.total).is : null;
    const counts = seen || d.counts || {};
    const started = d.started ? millis(d.started) : Date.now();
    since.title = moment(started);
    say(since, `started ${ago(started)}`);
    say(lasts, d.ended ? `took ${took(millis(d.ended) - started)}` : `for ${took(Date.now() - started)}`);
    say(tasks, many(counts.tasks || 0, 'task'));
    say(retries, counts.retries === 1 ? '1 retry' : `${counts.retries} retries`);
    retries.hidden = !counts.retries;
    say(logged, many(seen && frames ? frames.total : d.events, 'event'));
  }

  let headed = '';
  function drawHead() {
    const d = document_;
    tellCounts();
    // Who stands on a button of the head keeps it while nothing but time and counts are others.
    const is = JSON.stringify({ ...d, counts: 0, events: 0, now: 0, result: 0 });
    if (is === headed) return;
    headed = is;
    const open = !d.ended;
    const status = d.status;
    const act = person.operates && [
      open && h('button', { type: 'button', onclick: () => signal([id], document_.now.flatMap((/** @type {any} */ one) => one.signals || [])) }, 'Signal…'),
      open && (status === 'paused' ? h('button', { type: 'button', onclick: () => request(id, 'resume').then(stand) }, 'Resume') : h('button', { type: 'button', onclick: () => request(id, 'pause').then(stand) }, 'Pause')),
      open && !d.parent && h('button', { type: 'button', onclick: () => move(id) }, 'Other version…'),
      open && h('button', { type: 'button', class: 'danger', onclick: () => cancel([id], stand) }, 'Cancel…'),
      !open && status !== 'completed' && h('button', { type: 'button', onclick: () => rerun(id) }, 'Go on from there…'),
      h('button', { type: 'button', onclick: again }, 'Start again…'),
    ];
    const facts = [since, lasts, tasks, retries, logged,
      d.rerun_of ? h('span', null, 'a rerun of ', execution(d.rerun_of)) : null,
      d.started_by ? h('span', null, 'started by ', ...cause(d.started_by)) : null,
      d.parent ? h('span', null, 'called by ', execution(d.parent[0])) : null,
      open && !d.owned ? h('strong', { class: 'warn' }, 'no process drives it') : null,
    ];
    show(head, crumb(),
      h('div', { class: 'title' }, h('h1', null, d.playbook), badge(status), h('span', { class: 'gap' }), h('div', { class: 'acts' }, act)), h('p', { class: 'facts' }, facts));
    // What somebody ended is no failure, and does not look like one.
    if (d.error || d.reason) show(failure, d.error ? [problem(d.error, choose, d.digest), failedChildren(d.failed_children || [])] : h('p', { class: `reason ${status}` }, sign(status), prose(d.reason)));
    drawFailure();
  }

  /** What went wrong is shown where it had gone wrong. */
  function drawFailure() {
    const d = document_;
    failure.hidden = !(d.error || d.reason) || (!newest() && statusHere() !== d.status);
  }

  /** How it stood at the event that is looked at, empty where that is not known. */
  const statusHere = () => (frames && frames.has(position) && position ? String(frames.state(position).is?.status || '') : '');

  /** @type {Promise<void> | null} */
  let coming = null;
  /** Fetch what is needed to show the position, wherever the slider is moved meanwhile: what it passed is not asked for. */
  async function bring() {
    for (let last = -1; frames && !frames.has(position) && position !== last;) {
      last = position;
      await frames.ensure(last);
    }
  }

  let ahead = false;
  /** Who takes hold of the slider will move it: all that it passes is fetched ahead. */
  function prepare() {
    if (ahead || !frames) return;
    ahead = true;
    frames.ahead(position, closing.signal).catch(() => {}).finally(() => {
      ahead = false;
    });
  }

  /** Go to an event. @param {number} to @param {boolean} [keep] whether it goes on following */
  async function go(to, keep = false) {
    if (!frames) return;
    position = Math.max(0, Math.min(Math.round(to), frames.total));
    live = keep || (to === Infinity && !document_.ended);
    const wanted = position;
    range.max = String(frames.total);
    range.value = String(position);
    if (!frames.has(position)) {
      try {
        await (coming ||= bring().finally(() => {
          coming = null;
        }));
      } catch (error) {
        say(where, wordsOf(error));
        return;
      }
      if (wanted !== position || closing.signal.aborted) return;
    }
    paint();
    // Who follows or plays asks after a while, however often there is something new.
    const moves = live || playing !== 0;
    if (moves && resting) return;
    clearTimeout(resting);
    resting = window.setTimeout(rest, moves ? calm : REST);
  }

  function paint() {
    if (!frames || !frames.has(position)) return;
    drawn?.paint(frames.state(position));
    drawn?.live(live && lost.hidden);
    bars.move(position === frames.total && document_.ended ? 0 : frames.time(position) || 0);
    drawWhere();
    drawFailure();
    called.at(newest() ? null : { position, time: frames.time(position) || 0 });
  }

  /** Whether what is shown is as it is now. */
  const newest = () => !frames || live || (document_.ended !== null && position >= frames.total);

  let shownStatus = '';
  function drawWhere() {
    if (!frames) return;
    const at = frames.time(position);
    const status = statusHere() || 'new';
    say(where, `${position.toLocaleString('en')} of ${frames.total.toLocaleString('en')}${at ? ` · ${clock(at)}` : ''}`);
    if (status !== shownStatus) {
      shownStatus = status;
      show(stands, badge(status));
    }
    follows.setAttribute('aria-pressed', String(live));
    follows.hidden = document_.ended !== null || !lost.hidden;
  }

  /** @type {any} */
  let now = null;
  /** All that there is to say of the moment at which somebody stays. A long log takes its time: one answer is there before another is asked for, and as long as it took the next one waits. */
  async function rest() {
    resting = asking ? window.setTimeout(rest, REST) : 0;
    if (!playing) point();
    if (asking) return;
    asking = true;
    const begun = performance.now();
    const wanted = live ? NEWEST : position;
    try {
      const found = await getShown(`${place}/moment`, { position: wanted }, closing.signal).catch(() => null);
      // What plays has moved on when the answer comes, always.
      if (!found || (!playing && wanted !== (live ? NEWEST : position))) return;
      now = found;
      drawn?.come(now.to_come);
      await drawPanel();
    } finally {
      calm = Math.max(REST, performance.now() - begun);
      asking = false;
    }
  }

  /** The address of what is shown, with some words of it changed; null takes one out. @param {Record<string, string | null>} changes */
  function addressOf(changes) {
    const words = new URLSearchParams(query);
    for (const [name, word] of Object.entries(changes)) {
      if (word === null) words.delete(name);
      else words.set(name, word);
    }
    return `#/executions/${encodeURIComponent(id)}${words.size ? `?${words}` : ''}`;
  }

  /** Put a range of the timeline into the address, from where it is taken again. @param {[number, number] | null} found */
  function zoom(found) {
    location.hash = addressOf({ zoom: found && found.join('-') });
  }

  /** Have the address lead to what is shown: who is sent it sees the same event, step and tab. */
  function point() {
    const place_ = addressOf({ at: newest() ? null : String(position), step: step || null, tab: tab === (step ? 'step' : 'now') ? null : tab });
    // Who has gone elsewhere meanwhile is not brought back.
    if (closing.signal.aborted || place_ === location.hash || location.hash.split('?')[0] !== place_.split('?')[0]) return;
    history.replaceState(null, '', place_);
    query = new URLSearchParams(place_.split('?')[1] || '');
  }

  /** @param {string} name */
  function choose(name) {
    if (name !== step) most = LISTED;
    step = name;
    tab = 'step';
    drawn?.mark(name);
    point();
    drawPanel();
  }

  /** @param {string} name */
  function turn(name) {
    tab = name;
    point();
    drawPanel();
  }

  const TABS = /** @type {[string, string][]} */ ([['now', 'Now'], ['step', 'Step'], ['ctx', 'Context'], ['marking', 'Marking'], ['io', 'In and out']]);

  async function drawPanel() {
    const focused = tabs.contains(document.activeElement);
    show(tabs, TABS.map(([name, label]) => h('button', {
      type: 'button', role: 'tab', 'aria-selected': String(name === tab), tabIndex: name === tab ? 0 : -1,
      onclick: () => turn(name),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
        if (!by) return;
        turn(TABS[(TABS.findIndex(([one]) => one === tab) + by + TABS.length) % TABS.length][0]);
        /** @type {HTMLElement} */ (tabs.querySelector('[aria-selected=true]')).focus();
      },
    }, label)));
    if (focused) /** @type {HTMLElement} */ (tabs.querySelector('[aria-selected=true]')).focus();
    showItems();
    showOutput();
    if (!now) return;
    if (tab === 'now') showNow();
    else if (tab === 'ctx') show(panel, values(now.ctx, 'Nothing is in ctx here.'));
    else if (tab === 'marking') show(panel, h('table', { class: 'pairs' }, h('tbody', null, Object.entries(now.marking).map(([name, tokens]) => h('tr', null, h('th', null, name), h('td', null, Object.entries(tokens).map(([key, count]) => h('code', { class: 'token' }, `${key || '•'}${count > 1 ? ` × ${count}` : ''}`))))))), Object.keys(now.marking).length ? null : h('p', { class: 'hint' }, 'No place has a token.'));
    else if (tab === 'io') await showInOut();
    else await showStep();
  }

  /** @type {ReturnType<typeof items> | null} */
  let listing = null;
  /** The items of the step's loops; they stand beside the panel, as what it printed does. */
  function showItems() {
    topic.hidden = tab !== 'step' || !step;
    listed.hidden = topic.hidden || !document_;
    if (listed.hidden) return;
    if (listing?.step !== step) {
      listing = items(id, step, document_.digest, closing.signal);
      show(listed, listing.element);
    }
    listing.at(newest() ? null : position);
  }

  /** @type {ReturnType<typeof output> | null} */
  let shown = null;
  /** What the step printed. It stands beside the panel, which is made anew all the time: who reads keeps the place. */
  function showOutput() {
    printed.hidden = tab !== 'step' || !step;
    if (printed.hidden) return;
    if (shown?.step !== step) {
      shown = output(id, step, closing.signal);
      show(printed, shown.element);
      shown.refresh();
    }
    shown.until(newest() ? Infinity : frames?.time(position) || 0);
  }

  function showNow() {
    const rows = now.now.map((/** @type {any} */ one) => h('li', { class: one.what }, h('button', { type: 'button', class: 'bare', onclick: () => choose(one.step) }, one.place), h('span', null, one.what === 'retry' ? 'waits for ' : null, prose(one.text), one.due ? ` until ${clock(millis(one.due))}` : '')));
    const interrupted = now.interrupted.map((/** @type {any} */ one) => h('li', null, h('button', { type: 'button', class: 'bare', onclick: () => choose(one.step) }, one.step), h('span', null, `by ${one.by} ${one.name} at ${clock(millis(one.at))}`)));
    const state = frames && frames.has(position) && position ? frames.state(position) : {};
    const ran = new Set(Object.keys(state.steps || {}));
    const gone = (drawn?.steps() || []).filter((name) => !ran.has(name) && !now.to_come.includes(name));
    const come = now.to_come.filter((/** @type {string} */ name) => !ran.has(name));
    show(panel, rows.length ? h('ul', { class: 'now-list' }, rows) : h('p', { class: 'hint' }, now.status === 'running' ? 'Nothing is at work at this moment.' : OVER[now.status] || `It is ${now.status}.`),
      interrupted.length ? [h('h2', { class: 'part' }, 'Interrupted'), h('ul', { class: 'now-list' }, interrupted)] : null,
      come.length ? [h('h2', { class: 'part' }, 'Can still run'), h('p', { class: 'names' }, come.slice(0, 40).map(link))] : null,
      gone.length ? [h('h2', { class: 'part' }, 'Can no longer run'), h('p', { class: 'names gone' }, gone.slice(0, 40).map(link))] : null);
  }

  /** @param {string} name */
  const link = (name) => h('button', { type: 'button', class: 'chip', onclick: () => choose(name) }, name);

  async function showInOut() {
    const error = now.status === 'completed' ? null : `${OVER[now.status]?.slice(0, -1) || `It is ${now.status}`}, and has no result.`;
    const result = h('div', null, error ? h('p', { class: 'hint' }, error) : h('p', { class: 'hint' }, 'Asking…'));
    show(panel, h('h2', { class: 'part' }, 'Workload'), values(now.workload, 'It has none.'), h('h2', { class: 'part' }, 'Result'), result);
    if (error) return;
    try {
      show(result, value((await getShown(`${place}/result`, {}, closing.signal)).result));
    } catch (refusal) {
      show(result, h('p', { class: 'hint' }, prose(wordsOf(refusal))));
    }
  }

  async function showStep() {
    if (!step) {
      show(panel, h('p', { class: 'hint' }, 'Choose a step in the picture or in the timeline.'));
      return;
    }
    const wanted = step;
    const state = frames && frames.has(position) && position ? frames.state(position).steps?.[step] || null : null;
    const then = newest() ? null : position;
    const own = bars.at(then).filter((bar) => bar.step === step);
    /** @type {import('./step.js').Look} */
    const look = {
      place, step, digest: document_.digest, position: then, over: then === null && document_.ended !== null, state, bars: own, mayHave: await bars.incomplete(), most,
      further: () => {
        most += LISTED;
        drawPanel();
      },
      signal: closing.signal, still: () => step === wanted && tab === 'step' && then === (newest() ? null : position),
      again: h('div', { class: 'acts' }, h('button', { type: 'button', onclick: () => {
        events.only(wanted);
        events.element.scrollIntoView({ block: 'start' });
      } }, 'Its events in the log'), person.operates && document_.ended && bars.bars().some((bar) => bar.step === step) ? h('button', { type: 'button', onclick: () => rerun(id, wanted) }, 'Start again from this step…') : null),
    };
    if (!look.still()) return;
    show(topic, heading(look));
    await draw(panel, look);
  }

  async function again() {
    try {
      const first = (await getShown(`${place}/events`, { limit: 1 })).events[0];
      await startAgain(document_.playbook, document_.digest, first.payload.payload || {});
    } catch (error) {
      tell(wordsOf(error), 'bad');
    }
  }

  function stop() {
    cancelAnimationFrame(playing);
    playing = 0;
    show(play, sign('play'));
    play.setAttribute('aria-label', 'Play');
  }

  play.addEventListener('click', () => {
    if (playing || !frames) {
      stop();
      point();
      return;
    }
    prepare();
    show(play, sign('pause'));
    play.setAttribute('aria-label', 'Stop playing');
    if (position >= frames.total) position = 0;
    // Whatever its length, a log plays in at most half a minute.
    const by = Math.max(frames.total / 30 / 30, 0.2);
    let at = position;
    let last = performance.now();
    const tick = async () => {
      if (!playing || !frames) return;
      const time = performance.now();
      if (time - last > 33) {
        last = time;
        at += by;
        if (Math.floor(at) !== position) await go(Math.floor(at));
        if (at >= frames.total) stop();
      }
      if (playing) playing = requestAnimationFrame(tick);
    };
    playing = requestAnimationFrame(tick);
  });
  for (const name of ['pointerdown', 'focus']) range.addEventListener(name, prepare);
  range.addEventListener('input', () => {
    stop();
    go(Number(range.value));
  });
  follows.addEventListener('click', () => (live ? go(position) : go(Infinity)));
  begin();

  return {
    element,
    title: id,
    turn: (next) => {
      const is = (/** @type {string} */ name) => next.get(name) !== query.get(name) && next.get(name);
      const [at, wanted, other] = [is('at'), is('step'), is('tab')];
      query = next;
      bars.zoom(rangeIn(next.get('zoom')));
      if (at) go(Number(at) || 0);
      if (wanted) choose(wanted);
      if (other) turn(other);
    },
    close: () => {
      stop();
      clearTimeout(resting);
      closing.abort();
    },
  };
}
