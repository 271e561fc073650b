// Elements from plain values. Text is only ever set as text: nothing here can make markup of what a playbook says.

/** Lists may have lists in them. @typedef {Node | string | number | null | undefined | false | any[]} Child */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element with properties and children. `on…` are listeners, `class` and names with a dash or `role` are attributes,
 * all else are properties.
 * @param {string} tag @param {Record<string, any> | null} [given] @param {...Child} children @returns {any}
 */
export function h(tag, given, ...children) {
  return filled(document.createElement(tag), given, children, false);
}

/** The same of SVG, where all but listeners are attributes. @param {string} tag @param {Record<string, any> | null} [given] @param {...Child} children @returns {any} */
export function s(tag, given, ...children) {
  return filled(document.createElementNS(SVG, tag), given, children, true);
}

/** @param {Element} element @param {Record<string, any> | null | undefined} given @param {Child[]} children @param {boolean} plain */
function filled(element, given, children, plain) {
  for (const [name, value] of Object.entries(given || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === null || value === undefined || value === false) continue;
    else if (plain || name === 'class' || name === 'role' || name === 'for' || name === 'colspan' || name.includes('-')) element.setAttribute(name, value === true ? '' : value);
    // A name that is no property (`tabindex` for `tabIndex`) would be set and do nothing.
    else if (name in element) /** @type {any} */ (element)[name] = value;
    else throw new TypeError(`<${element.localName}> has no property ${name}`);
  }
  put(element, children);
  return element;
}

/** Add children. @param {Element} element @param {Child[]} children */
function put(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) put(element, child);
    else if (child !== null && child !== undefined && child !== false) element.append(child instanceof Node ? child : String(child));
  }
}

/** Replace all children. @param {Element} element @param {...Child} children */
export function show(element, ...children) {
  element.replaceChildren();
  put(element, children);
}

/** Set a text, and only touch the page where it is another one. @param {Node} node @param {string} text */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** What went wrong, in words. @param {unknown} problem @returns {string} */
export function wordsOf(problem) {
  return problem instanceof Error ? problem.message : String(problem);
}

/** A text in which names stand between backticks, as the compiler writes it. @param {string} text @returns {Child[]} */
export function prose(text) {
  const parts = text.split('`');
  // One without its partner is a letter like any other.
  const last = parts.length % 2 ? Infinity : parts.length - 1;
  return parts.map((part, at) => (at === last ? `\`${part}` : at % 2 ? h('code', null, part) : part));
}

/** The strokes of signs, in a box of 16. @type {Record<string, string>} */
const SIGNS = {
  running: 'M5 3.5L12.5 8L5 12.5Z',
  paused: 'M5.5 3.5V12.5M10.5 3.5V12.5',
  blocked: 'M8 3.2V9M8 12V12.2',
  failed: 'M4 4L12 12M12 4L4 12',
  cancelled: 'M3.5 8H12.5',
  completed: 'M3 8.5L6.5 12L13 4.5',
  done: 'M3 8.5L6.5 12L13 4.5',
  again: 'M12.5 5.5A5 5 0 1 0 13 9M12.8 2.5V5.7H9.6',
  child: 'M4 3V9.5H12M9 6.5L12 9.5L9 12.5',
  waiting: 'M4.5 3H11.5L4.5 13H11.5Z',
  skipped: 'M3.5 8H12.5',
  wait: 'M8 2.5A5.5 5.5 0 1 0 8 13.5A5.5 5.5 0 1 0 8 2.5M8 5V8.3L10.3 9.7',
  close: 'M4 4L12 12M12 4L4 12',
  back: 'M10 3L5 8L10 13',
  play: 'M5 3.5L12.5 8L5 12.5Z',
  pause: 'M5.5 3.5V12.5M10.5 3.5V12.5',
  next: 'M4 3.5L9.5 8L4 12.5M12 3.5V12.5',
  previous: 'M12 3.5L6.5 8L12 12.5M4 3.5V12.5',
  first: 'M12.5 3.5L8 8L12.5 12.5M7.5 3.5L3 8L7.5 12.5',
  last: 'M3.5 3.5L8 8L3.5 12.5M8.5 3.5L13 8L8.5 12.5',
};

/** A sign; what it means stands beside it as text. @param {string} name @returns {SVGElement} */
export function sign(name) {
  return s('svg', { class: `sign ${name}`, viewBox: '0 0 16 16', 'aria-hidden': 'true' }, s('path', { d: SIGNS[name] || 'M8 8' }));
}

/** A status as a badge. @param {string} status @returns {HTMLElement} */
export function badge(status) {
  return h('span', { class: `badge ${status}` }, sign(status), status);
}

/** What went wrong, in the place of what was to be there. @param {unknown} problem @returns {HTMLElement} */
export function trouble(problem) {
  return h('p', { class: 'empty' }, sign('failed'), h('span', null, prose(wordsOf(problem))));
}

/** A link to an execution. @param {string} id */
export const execution = (id) => h('a', { href: `#/executions/${encodeURIComponent(id)}` }, id);
