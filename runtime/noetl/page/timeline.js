// The timeline: a lane for each step that ran, with attempts, retries and waits; time in which nothing worked is squeezed.

import { h, say, show } from './dom.js';
import { get } from './server.js';
import { clock, many, took } from './times.js';

/**
 * @typedef {{number: number, kind: string, step: string, run: string, iteration: number[], task: string | null, attempt: number,
 *   from: number, to: number | null, ok: boolean | null, error?: any}} Bar
 */

const GAP = 0.05;
const LANES = 200;

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
 * @returns {{place: (at: number) => number, gaps: {from: number, to: number, took: number}[]}}
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
    gaps: placed.filter((one) => one.gap).map((one) => ({ from: one.left / size, to: (one.left + one.width) / size, took: one.to - one.from })),
  };
}

/** @param {string} id @param {(step: string) => void} pick @param {() => boolean} isOver */
export function timeline(id, pick, isOver) {
  /** @type {Map<number, Bar>} */
  const bars = new Map();
  let position = 0;
  let leftOut = 0;
  let cursor = 0;
  let asking = false;
  const lanes = h('div', { class: 'lanes', role: 'list', 'aria-label': 'Steps by time' });
  const line = h('div', { class: 'cursor', 'aria-hidden': 'true' });
  const squeeze = h('input', { type: 'checkbox', checked: true, onchange: () => draw() });
  const note = h('span', { class: 'hint' });
  const element = h('section', { class: 'card timeline' }, h('header', null, h('h2', null, 'Timeline'), note, h('span', { class: 'gap' }), h('label', { class: 'check' }, squeeze, 'Squeeze idle time')), lanes);
  let place = (/** @type {number} */ _) => 0;

  async function refresh() {
    if (asking) return;
    asking = true;
    try {
      const found = await get(`executions/${encodeURIComponent(id)}/timeline`, { after: position });
      for (const bar of found.bars) bars.set(bar.number, bar);
      position = found.position;
      leftOut = found.left_out;
    } finally {
      asking = false;
    }
    draw();
  }

  function draw() {
    if (!bars.size) return;
    const now = Date.now();
    const list = [...bars.values()];
    const end = (/** @type {Bar} */ bar) => bar.to ?? (isOver() ? bar.from : now);
    const first = Math.min(...list.slice(0, 1000).map((bar) => bar.from));
    const last = list.reduce((most, bar) => Math.max(most, end(bar)), first + 1);
    const working = list.filter((bar) => bar.kind === 'task').map((bar) => /** @type {[number, number]} */ ([bar.from, end(bar)]));
    const found = scale(working, first, last, squeeze.checked);
    place = found.place;
    say(note, `${clock(first)} to ${clock(last)}, ${took(last - first)}${leftOut ? `; ${many(leftOut, 'bar')} more are not shown` : ''}`);
    /** @type {Map<string, Bar[]>} */
    const steps = new Map();
    for (const bar of list) {
      const there = steps.get(bar.step);
      if (there) there.push(bar);
      else steps.set(bar.step, [bar]);
    }
    const rows = [...steps].slice(0, LANES).map(([step, own]) => lane(step, own, end));
    const gaps = found.gaps.map((gap) => {
      const one = h('div', { class: 'squeezed', title: `${took(gap.took)} in which nothing worked` }, took(gap.took));
      one.style.left = `calc(var(--names) + (100% - var(--names)) * ${gap.from})`;
      one.style.width = `calc((100% - var(--names)) * ${gap.to - gap.from})`;
      return one;
    });
    show(lanes, gaps, rows, line, steps.size > LANES ? h('p', { class: 'hint' }, `${many(steps.size - LANES, 'step')} more`) : null);
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
      const kind = `${bar.kind} ${bar.to === null && !isOver() ? 'open' : bar.ok === false && bar.kind !== 'retry' ? 'failed' : 'ok'}`;
      if ((until.get(kind) ?? -1) >= right && right - left < 0.002) continue;
      until.set(kind, Math.max(right, left + 0.002));
      const where = bar.iteration.length ? ` [${bar.iteration.join('][')}]` : '';
      const what = bar.kind === 'retry' ? `waits for attempt ${bar.attempt + 1}` : bar.kind === 'step' ? 'run' : `${bar.task || ''}${bar.attempt > 1 ? `, attempt ${bar.attempt}` : ''}`;
      const error = bar.error ? `\n${bar.error.code}: ${bar.error.message}` : '';
      const one = h('span', { class: `tick ${kind}`, title: `${step}${where}: ${what}\n${clock(bar.from)}, ${bar.to === null ? 'not ended' : took(bar.to - bar.from)}${error}` });
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
    line.hidden = !at;
    line.style.left = `calc(var(--names) + (100% - var(--names)) * ${place(at)})`;
  }

  return { element, refresh, draw, move, bars: () => [...bars.values()] };
}
