// How an execution stood behind each event of its log: states that the server folded, put together from what changed.
// Nothing here knows what an event means: values are put in their places, and null takes one away.

import { get } from './server.js';

/** @typedef {Record<string, Record<string, any>>} State */
/** @typedef {{state: State, frames: [number, State][]}} Range */

const SIZE = 500;
/** Events of a log that are fetched ahead of who moves through it. */
const AHEAD = 60_000;
/** Events whose frames the server keeps (`LONGEST` of noetl/app/frames.py): for a range behind them it folds all of the log. */
const KEPT = 200_000;

/** Put changes into a state. @param {State} state @param {State} changes */
export function apply(state, changes) {
  for (const [name, part] of Object.entries(changes)) {
    const there = state[name] || (state[name] = {});
    for (const [key, value] of Object.entries(part)) {
      if (value === null) delete there[key];
      else there[key] = value;
    }
  }
}

/** @param {State} state @returns {State} */
function copied(state) {
  return Object.fromEntries(Object.entries(state).map(([name, part]) => [name, { ...part }]));
}

/** The frames of one execution, by ranges that are fetched when somebody moves there. */
export class Frames {
  /** @param {string} id @param {number} total events that the log has */
  constructor(id, total) {
    this.id = id;
    this.total = total;
    /** @type {Map<number, Range>} */
    this.ranges = new Map();
    /** @type {Map<number, Promise<void>>} */
    this.coming = new Map();
    /** @type {{position: number, state: State}} */
    this.at = { position: 0, state: {} };
  }

  /** Where the range begins that has a position. @param {number} position */
  static start(position) {
    return Math.max(0, Math.floor((position - 1) / SIZE) * SIZE);
  }

  /** Whether the state at a position can be had at once. @param {number} position */
  has(position) {
    const start = Frames.start(position);
    const range = this.ranges.get(start);
    return range !== undefined && start + range.frames.length >= position;
  }

  /** Fetch what the state at a position needs. @param {number} position @returns {Promise<void>} */
  async ensure(position) {
    const start = Frames.start(position);
    while (!this.has(position)) {
      let coming = this.coming.get(start);
      if (!coming) {
        coming = this.fetch(start).finally(() => this.coming.delete(start));
        this.coming.set(start, coming);
      }
      const before = this.ranges.get(start)?.frames.length ?? -1;
      await coming;
      if ((this.ranges.get(start)?.frames.length ?? -1) === before) return;
    }
  }

  /** Fetch what lies around a position, the nearest first, one after the other. @param {number} position @param {AbortSignal} signal */
  async ahead(position, signal) {
    const here = Frames.start(position);
    for (let away = 0; away <= Math.min(this.total, AHEAD) && !signal.aborted; away += SIZE) {
      for (const start of new Set([here - away, here + away])) {
        if (start >= 0 && start < this.total && start + SIZE <= KEPT) await this.ensure(Math.min(start + SIZE, this.total));
      }
    }
  }

  /** @param {number} start */
  async fetch(start) {
    const range = this.ranges.get(start);
    const there = range ? range.frames.length : 0;
    const found = await get(`executions/${encodeURIComponent(this.id)}/frames`, { after: start + there, limit: SIZE - there });
    if (range) range.frames.push(...found.frames);
    else this.ranges.set(start, { state: found.state, frames: found.frames });
    this.total = Math.max(this.total, start + there + found.frames.length);
  }

  /** The state behind an event, which must be there. @param {number} position @returns {State} */
  state(position) {
    const start = Frames.start(position);
    const range = /** @type {Range} */ (this.ranges.get(start));
    // Who moves on within a range goes on from where he stood; who moves back begins at its beginning.
    if (this.at.position > position || this.at.position < start || (this.at.position === start && position > start)) this.at = { position: start, state: copied(range.state) };
    for (; this.at.position < position; this.at.position += 1) apply(this.at.state, range.frames[this.at.position - start][1]);
    return this.at.state;
  }

  /** ms since the epoch of an event that is there. @param {number} position @returns {number | null} */
  time(position) {
    const start = Frames.start(position);
    const frame = this.ranges.get(start)?.frames[position - start - 1];
    return frame ? frame[0] : null;
  }
}
