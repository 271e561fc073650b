// Times and amounts for people.

/** A duration in few signs. @param {number} ms @returns {string} */
export function took(ms) {
  if (ms < 0) ms = 0;
  if (ms < 1) return '0 s';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** How long ago. @param {number} then ms since the epoch @param {number} [now] @returns {string} */
export function ago(then, now = Date.now()) {
  const ms = now - then;
  if (ms < 5000) return 'just now';
  const units = /** @type {const} */ ([[86400000, 'day'], [3600000, 'hour'], [60000, 'minute'], [1000, 'second']]);
  for (const [size, name] of units) {
    const count = Math.floor(ms / size);
    if (count) return `${count} ${name}${count === 1 ? '' : 's'} ago`;
  }
  return 'just now';
}

/** A moment, in the reader's own zone. @param {number} at ms since the epoch @returns {string} */
export function moment(at) {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** A time of day with thousandths. @param {number} at ms since the epoch @returns {string} */
export function clock(at) {
  const date = new Date(at);
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** ms since the epoch of a time as the API writes it. @param {string} text @returns {number} */
export function millis(text) {
  return Date.parse(text);
}

/** A count with its noun. @param {number} count @param {string} noun @returns {string} */
export function many(count, noun) {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
