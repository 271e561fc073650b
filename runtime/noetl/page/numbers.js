// Numbers as they were written. JavaScript has one kind of number: it would show 1220.0 as 1220, send 1.0 as 1, and change whole numbers of more than 15 digits, in values that are shown or sent on.

/** Stands before a number in a text that JSON can hold; nobody outside of this page knows it. */
const MARK = `\u{E000}${Array.from(crypto.getRandomValues(new Uint32Array(2)), (one) => one.toString(16)).join('')}:`;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g');
/** Texts, which may have digits in them, and numbers (RFC 8259). */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A number that JavaScript would write otherwise. */
class WrittenNumber {
  /** @param {string} source */
  constructor(source) {
    this.source = source;
  }

  toString() {
    return this.source;
  }

  /** For what is reckoned all the same, as the length of a bar. */
  valueOf() {
    return Number(this.source);
  }

  toJSON() {
    return MARK + this.source;
  }
}

/** Whether a value is a number, however it is kept. @param {any} value @returns {boolean} */
export const isNumber = (value) => typeof value === 'number' || value instanceof WrittenNumber;

/** The value of a JSON text, its numbers as they stand there. Throws what is wrong with it. @param {string} text @returns {any} */
export function jsonValue(text) {
  let marked = 0;
  const safe = text.replace(TOKEN, (token) => {
    if (token[0] === '"' || String(Number(token)) === token) return token;
    marked += 1;
    return `"${MARK}${token}"`;
  });
  // What is wrong is told of the text that somebody wrote, and `01` would be two numbers.
  if (!marked) return JSON.parse(text);
  JSON.parse(text);
  return JSON.parse(safe, (_, value) => (typeof value === 'string' && value.startsWith(MARK) ? new WrittenNumber(value.slice(MARK.length)) : value));
}

/** The JSON text of a value, its numbers as they were written. @param {any} value @param {number} [indent] @returns {string} */
export function jsonText(value, indent) {
  return JSON.stringify(value, null, indent)?.replace(MARKED, '$1');
}

/** The number that somebody wrote in a control; of a `whole` one that JavaScript has, in digits alone. @param {string} text @param {boolean} whole @returns {any} */
export function numberIn(text, whole) {
  const number = Number(text);
  return !NUMBER.test(text) || (whole && Number.isSafeInteger(number)) ? number : jsonValue(text);
}
