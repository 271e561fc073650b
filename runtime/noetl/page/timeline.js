// The timeline: a lane for each step that ran, with attempts, retries and waits; time in which nothing worked is squeezed.
// A range of it is shown larger, chosen by dragging or by buttons, and stands in the address.

import { h, say, show } from './dom.js';
import { getShown } from './server.js';
import { clock, many, took } from './times.js';

/**
 * @typedef {{number: number, kind: string, step: string, run: string, iteration: number[], task: string | null, attempt: number,
 *   from: number, to: number | null, since: number, until: number | null, ok: boolean | null, awaits?: string, child?: string, error?: any}} Bar
 */

const GAP = 0.05;
const LANES = 200;
/** Pixels that are a drag, and no click. */
const DRAG = 5;
/** The shortest range, in ms. */
const SHORTEST = 2;
/** The width of what is right of the names. */
const TRACK = '(100% - var(--names) - 16px)';

/** @typedef {[number, number]} Range ms behind the beginning of the first bar */

/** The range that an address names, null for all. @param {string | null} text @returns {Range | null} */
export function rangeIn(text) {
  const found = /^(\d{1,15})-(\d{1,15})$/.exec(text || '');
  const range = found && /** @type {Range} */ ([Number(found[1]), Number(found[2])]);
  return range && range[1] - range[0] >= SHORTEST ? range : null;
}

/** An arc that could not be evaluated, in words. @param {Bar} bar @returns {string} */
export const arcOf = (bar) => `arc to ${bar.error?.target || 'its next step'}`;

/** Where a share of the time lies across the lanes. @param {number} share */
const across = (share) => `calc(var(--names) + ${TRACK} * ${share})`;

/** How much of the lanes a share of the time takes. @param {number} share */
const wide = (share) => `calc(${TRACK} * ${share})`;

/** Stretches in which something worked, in order and apart. @param {[number, number][]} bars @returns {[number, number][]} */
export function busy(bars) {
  /** @type {[number, number][]} */
  const found = [];
  for (const [from, to] of [...bars].sort((a, b) => a[0] - b[0])) {
    const end = found[found.length - 1];
    if (end && from <= end[1]) end[1] = Math.max(end[1], to);
    else found.push([from, to]);
  }
  return found;
}

/**
 * Where moments lie, from 0 to 1: long stretches of nothing take a twentieth each.
 * @param {[number, number][]} working @param {number} first @param {number} last @param {boolean} squeezed
 * @returns {{place: (at: number) => number, moment: (share: number) => number, gaps: {from: number, to: number, took: number}[]}}
 */
export function scale(working, first, last, squeezed) {
  const all = Math.max(last - first, 1);
  /** @type {[number, number, boolean][]} */
  const pieces = [];
  let at = first;
  for (const [from, to] of busy(working)) {
    if (from > at) pieces.push([at, from, true]);
    if (to > Math.max(at, from)) pieces.push([Math.max(at, from), to, false]);
    at = Math.max(at, to);
  }
  if (last > at) pieces.push([at, last, true]);
  const works = pieces.reduce((sum, [from, to, idle]) => sum + (idle ? 0 : to - from), 0);
  const long = Math.max(works * 0.5, all * 0.1);
  const is = (/** @type {[number, number, boolean]} */ [from, to, idle]) => squeezed && idle && to - from > long;
  const count = pieces.filter(is).length;
  const rest = pieces.reduce((sum, piece) => sum + (is(piece) ? 0 : piece[1] - piece[0]), 0) || 1;
  const share = count ? Math.min(GAP, 0.5 / count) : 0;
  let left = 0;
  const placed = pieces.map((piece) => {
    const width = is(piece) ? (count * share >= 1 || works + rest === 1 ? 1 / count : share) : ((piece[1] - piece[0]) / rest) * (1 - count * share);
    left += width;
    return { from: piece[0], to: piece[1], left: left - width, width, gap: is(piece) };
  });
  const size = left || 1;
  return {
    place: (moment) => {
      const piece = placed.find((one) => moment <= one.to) || placed[placed.length - 1];
      if (!piece) return 0;
      const share_ = piece.to > piece.from ? (Math.max(moment, piece.from) - piece.from) / (piece.to - piece.from) : 0;
      return Math.min(1, (piece.left + piece.width * Math.min(1, share_)) / size);
    },
    moment: (part) => {
      const piece = placed.find((one) => part * size <= one.left + one.width) || placed[placed.length - 1];
      return piece ? piece.from + (piece.width ? Math.min(1, Math.max(0, part * size - piece.left) / piece.width) : 0) * (piece.to - piece.from) : first;
    },
    gaps: placed.filter((one) => one.gap).map((one) => ({ from: one.left / size, to: (one.left + one.width) / size, took: one.to - one.from })),
  };
}

/**
 * @param {string} id @param {(step: string) => void} pick @param {() => boolean} isOver
 * @param {Range | null} range that is shown at first @param {(range: Range | null) => void} chosen what somebody chooses
 */
export function timeline(id, pick, isOver, range, chosen) {
  /** @type {Map<number, Bar>} */
  const bars = new Map();
  let position = 0;
  let leftOut = 0;
  let cursor = 0;
  /** @type {Promise<void> | null} */
  let asking = null;
  const lanes = h('div', { class: 'lanes', role: 'list', 'aria-label': 'Steps by time' });
  const line = h('div', { class: 'cursor', 'aria-hidden': 'true' });
  const squeeze = h('input', { type: 'checkbox', checked: true, onchange: () => draw() });
  const note = h('span', { class: 'hint' });
  const closer = h('button', { type: 'button', disabled: true, 'aria-label': 'Zoom in', title: 'Half of it, around the cursor; or drag over the lanes', onclick: () => choose(...middle(0.25)) }, '+');
  const others = [
    h('button', { type: 'button', disabled: true, 'aria-label': 'Zoom out', onclick: () => shift(-0.5, 0.5) }, '−'), h('button', { type: 'button', disabled: true, 'aria-label': 'Earlier', onclick: () => shift(-0.5, -0.5) }, '‹'),
    h('button', { type: 'button', disabled: true, 'aria-label': 'Later', onclick: () => shift(0.5, 0.5) }, '›'), h('button', { type: 'button', disabled: true, onclick: () => choose(0, Infinity) }, 'All of it'),
  ];
  const element = h('section', { class: 'card timeline' }, h('header', null, h('h2', null, 'Timeline'), note, h('span', { class: 'gap' }), h('div', { class: 'acts', role: 'group', 'aria-label': 'Range of the timeline' }, closer, others), h('label', { class: 'check' }, squeeze, 'Squeeze idle time')), lanes);
  const dragged = h('div', { class: 'dragged', hidden: true });
  let place = (/** @type {number} */ _) => 0;
  let moment = (/** @type {number} */ _) => 0;
  /** What there is, and what of it is shown, in ms since the epoch. */
  let [first, last, from, to] = [0, 0, 0, 0];

  /** Fetch what is new; who asks meanwhile waits for the same. */
  function refresh() {
    return asking ||= load().finally(() => {
      asking = null;
    });
  }

  async function load() {
    const found = await getShown(`executions/${encodeURIComponent(id)}/timeline`, { after: position });
    for (const bar of found.bars) bars.set(bar.number, bar);
    position = found.position;
    leftOut = found.left_out;
    draw();
  }

  /** Whether there are bars that are not listed. */
  async function incomplete() {
    await asking;
    return leftOut > 0;
  }

  /** The bars as they were behind an event, null for now: what had not ended is open. @param {number | null} then @returns {Bar[]} */
  function barsAt(then) {
    const all = [...bars.values()];
    if (then === null) return all;
    return all.filter((bar) => bar.since <= then).map((bar) => (bar.until !== null && bar.until > then ? { ...bar, to: null, until: null, ok: null, error: undefined } : bar));
  }

  function draw() {
    if (!bars.size) return;
    const now = Date.now();
    const list = [...bars.values()];
    const end = (/** @type {Bar} */ bar) => bar.to ?? (isOver() ? bar.from : now);
    first = list.slice(0, 1000).reduce((least, bar) => Math.min(least, bar.from), Infinity);
    last = list.reduce((most, bar) => Math.max(most, end(bar)), first + 1);
    // Of a range that lies behind the end nothing could be shown.
    const is = range !== null && first + range[0] < last;
    [from, to] = range && is ? [first + range[0], Math.min(first + range[1], last)] : [first, last];
    const inside = is ? list.filter((bar) => bar.from <= to && end(bar) >= from) : list;
    const working = inside.filter((bar) => bar.kind === 'task').map((bar) => /** @type {[number, number]} */ ([Math.max(bar.from, from), Math.min(end(bar), to)]));
    const found = scale(working, from, to, squeeze.checked);
    ({ place, moment } = found);
    say(note, `${clock(from)} to ${clock(to)}, ${took(to - from)}${is ? ` of ${took(last - first)}` : ''}${leftOut ? `; ${many(leftOut, 'bar')} more are not shown` : ''}`);
    closer.disabled = to - from <= SHORTEST;
    if (!is && others.includes(document.activeElement)) closer.focus();
    for (const one of others) one.disabled = !is;
    /** @type {Map<string, Bar[]>} */
    const steps = new Map();
    for (const bar of inside) {
      const there = steps.get(bar.step);
      if (there) there.push(bar);
      else steps.set(bar.step, [bar]);
    }
    const rows = [...steps].slice(0, LANES).map(([step, own]) => lane(step, own, end));
    const gaps = found.gaps.map((gap) => {
      const one = h('div', { class: 'squeezed', title: `${took(gap.took)} in which nothing worked` }, took(gap.took));
      one.style.left = across(gap.from);
      one.style.width = wide(gap.to - gap.from);
      return one;
    });
    show(lanes, gaps, rows, line, dragged, steps.size > LANES ? h('p', { class: 'hint' }, `${many(steps.size - LANES, 'step')} more`) : null);
    move(cursor);
  }

  /** @param {string} step @param {Bar[]} own @param {(bar: Bar) => number} end */
  function lane(step, own, end) {
    const track = h('div', { class: 'track' });
    // Bars that would lie on each other's hair are one: a thousand iterations are no thousand elements.
    /** @type {Map<string, number>} */
    const until = new Map();
    for (const bar of own) {
      const left = place(bar.from);
      const right = Math.max(place(end(bar)), left);
      const kind = `${bar.kind} ${bar.to === null && !isOver() ? 'open' : bar.ok === false && bar.kind !== 'retry' ? 'failed' : bar.ok === null ? 'cut' : 'ok'}`;
      if ((until.get(kind) ?? -1) >= right && right - left < 0.002) continue;
      until.set(kind, Math.max(right, left + 0.002));
      const where = bar.iteration.length ? ` [${bar.iteration.join('][')}]` : '';
      const what = bar.kind === 'retry' ? `waits for attempt ${bar.attempt + 1}` : bar.kind === 'step' ? 'run' : bar.kind === 'arc' ? arcOf(bar) : `${bar.task || step}${bar.attempt > 1 ? `, attempt ${bar.attempt}` : ''}${bar.awaits ? ` waits for ${bar.awaits}` : ''}`;
      const error = bar.error ? `\n${bar.error.code}: ${bar.error.message}` : '';
      const one = h('span', { class: `tick ${kind}`, title: `${step}${where}: ${what}\n${clock(bar.from)}, ${bar.to === null ? 'not ended' : `${took(bar.to - bar.from)}${bar.ok === null ? ', cut off' : ''}`}${error}` });
      one.style.left = `${left * 100}%`;
      one.style.width = `max(3px, ${(right - left) * 100}%)`;
      track.append(one);
    }
    const runs = new Set(own.map((bar) => bar.run)).size;
    return h('div', { class: 'lane', role: 'listitem' }, h('button', { type: 'button', class: 'bare', onclick: () => pick(step), title: step }, step, runs > 1 ? h('small', null, ` × ${runs}`) : null), track);
  }

  /** Put the cursor at a moment. @param {number} at ms since the epoch */
  function move(at) {
    cursor = at;
    line.hidden = !at || at < from || at > to;
    line.style.left = across(place(at));
  }

  /** A part of what is shown, so many shares around the cursor, or around the middle where there is none. @param {number} by @returns {[number, number]} */
  function middle(by) {
    const around = Math.min(1 - by, Math.max(by, line.hidden ? 0.5 : place(cursor)));
    return [moment(around - by), moment(around + by)];
  }

  /** Move the ends of what is shown, by shares of it. @param {number} start @param {number} end */
  function shift(start, end) {
    const size = to - from;
    const by = start === end ? Math.min(Math.max(start * size, first - from), last - to) : null;
    choose(from + (by ?? start * size), to + (by ?? end * size));
  }

  /** Choose what is shown, in ms since the epoch. @param {number} start @param {number} end */
  function choose(start, end) {
    // To the nearest, and not outwards: of three ms, half of it would be all of it.
    let [at, until] = [Math.max(0, Math.round(start - first)), Math.round(Math.min(end, last) - first)];
    if (until - at < SHORTEST) [at, until] = [Math.max(0, until - SHORTEST), Math.max(0, until - SHORTEST) + SHORTEST];
    chosen(at === 0 && until >= last - first ? null : [at, until]);
  }

  lanes.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
    const track = lanes.querySelector('.track')?.getBoundingClientRect();
    if (!track || event.button || event.clientX < track.left || event.clientX > track.right) return;
    const share = (/** @type {PointerEvent} */ each) => Math.min(1, Math.max(0, (each.clientX - track.left) / track.width));
    const start = share(event);
    const drag = (/** @type {PointerEvent} */ each) => {
      const ends = [start, share(each)].sort((a, b) => a - b);
      dragged.hidden = (ends[1] - ends[0]) * track.width < DRAG;
      dragged.style.left = across(ends[0]);
      dragged.style.width = wide(ends[1] - ends[0]);
      return ends;
    };
    const over = new AbortController();
    lanes.setPointerCapture(event.pointerId);
    lanes.addEventListener('pointermove', drag, { signal: over.signal });
    lanes.addEventListener('pointercancel', () => {
      over.abort();
      dragged.hidden = true;
    }, { signal: over.signal });
    lanes.addEventListener('pointerup', (/** @type {PointerEvent} */ each) => {
      const [left, right] = drag(each);
      over.abort();
      if (!dragged.hidden) choose(moment(left), moment(right));
      dragged.hidden = true;
    }, { signal: over.signal });
  });

  /** Show a range, all where it is null. @param {Range | null} wanted */
  function zoom(wanted) {
    range = wanted;
    draw();
  }

  return { element, refresh, incomplete, at: barsAt, draw, move, zoom, bars: () => [...bars.values()] };
}
