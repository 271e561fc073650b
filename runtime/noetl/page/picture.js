// The picture of a plan, painted with a state: the compiler's own SVG, whose boxes and arrows bear the ids of the plan.

import { h, s, say, show } from './dom.js';
import { address } from './server.js';
import { viewport } from './viewport.js';

const MARKS = ['idle', 'done', 'running', 'waiting', 'failed', 'cancelled', 'never'];
/** The marks that somebody looks for, the most pressing first, and what a step with one is called. @type {[string, string][]} */
const SOUGHT = [['failed', 'Failed'], ['running', 'Running'], ['waiting', 'Waiting'], ['cancelled', 'Cancelled']];
const MORE = `
  :host { display: block; }
  svg { width: 100%; height: 100%; display: block; touch-action: none; cursor: grab; user-select: none; }
  svg:active { cursor: grabbing; }
  .node { cursor: pointer; outline: none; }
  .node:focus-visible > .b, .node:hover > .b { stroke-width: 3; }
  .node:focus-visible > .ring { display: inline; }
  .ring { display: none; fill: none; stroke: var(--accent); stroke-width: 2; stroke-dasharray: 4 3; }
  .picked > .b { stroke-width: 3.6 !important; }
  /* Not by opacity: each box would be a layer of its own, and a frame of a thousand boxes takes a second. */
  .never > * { fill-opacity: .34; stroke-opacity: .34; }
  .idle > text { fill: var(--dim); }
  .never > text { fill-opacity: .72; text-decoration: line-through; }
  .tiny .pill { display: none; }
  .pill { fill: var(--page); stroke: currentColor; stroke-width: 1.2; }
  .note { color: var(--dim); }
  .done > .note { color: var(--completed); } .running > .note { color: var(--running); } .failed > .note { color: var(--failed); }
  .waiting > .note { color: var(--blocked); } .cancelled > .note { color: var(--cancelled); }
  .note text { font-weight: bold; fill: currentColor; font-size: 11px; }
  .times { font-weight: bold; fill: var(--completed); paint-order: stroke; stroke: var(--page); stroke-width: 4px; }
  @media (prefers-reduced-motion: no-preference) { :host(.live) .running > .b { animation: beat 1.4s ease-in-out infinite; } @keyframes beat { 50% { stroke-opacity: .35; } } }
`;
/** What a pill has beside its text, in units: no pill is wider than its box, so that none covers an arrow or another. */
const ENDS = 16;
/** Between the facts of a pill, and behind those that are there. */
const [AND, MORE_FACTS] = [' · ', ' …'];

/** @typedef {import('./viewport.js').Frame} Frame */
/** @typedef {{g: SVGGElement, note: SVGGElement, label: SVGElement, mark: string, facts: string, name: string, frame: Frame, room: number}} Box */

/** The SVG document of a plan. @param {string} digest @returns {Promise<Document>} */
function fetched(digest) {
  return new Promise((done, failed) => {
    // A document, and no text: text that becomes markup is what the policy of the page forbids.
    const asking = new XMLHttpRequest();
    asking.open('GET', address(`plans/${encodeURIComponent(digest)}/picture`));
    asking.responseType = 'document';
    asking.overrideMimeType('image/svg+xml');
    asking.onload = () => (asking.status === 200 && asking.responseXML ? done(asking.responseXML) : failed(new Error('the picture cannot be drawn')));
    asking.onerror = () => failed(new Error('the server cannot be reached'));
    asking.send();
  });
}

/** Half of the longest line of words between boxes, and the height of a line, in units. */
const [HALF, LINE] = [160, 16];

/** The texts of a picture, and where they stand. @param {SVGElement} svg @param {number} left @param {number} top where the picture begins @returns {import('./viewport.js').Words[]} */
function wordsIn(svg, left, top) {
  return [...svg.querySelectorAll('text')].map((element) => {
    const [x, y] = ['x', 'y'].map((name) => Number(element.getAttribute(name) || 0));
    return { element, parent: /** @type {Element} */ (element.parentElement), frame: { left: x + left - HALF, top: y + top - LINE, right: x + left + HALF, bottom: y + top + LINE } };
  });
}

/**
 * A place for a picture.
 * @param {string} digest @param {(step: string) => void} pick
 */
export function picture(digest, pick) {
  const stage = h('div', { class: 'stage' });
  const root = stage.attachShadow({ mode: 'open' });
  const waiting = h('p', { class: 'empty' }, 'Drawing…');
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  /** @type {Map<string, {g: SVGGElement, count: number, times: SVGElement | null, stem: string | null}>} */
  const arrows = new Map();
  /** @type {Map<string, SVGGElement>} */
  const stems = new Map();
  /** @type {ReturnType<typeof viewport> | null} */
  let view = null;
  /** @type {any} */
  let svg = null;
  /** @type {any} */
  let last = null;
  /** @type {Set<string> | null} */
  let toCome = null;
  let picked = '';
  /** The box that Tab leads to. @type {Box | null} */
  let entry = null;
  /** @type {CanvasRenderingContext2D | null} */
  let ruler = null;

  /** How wide a text is. On a canvas, as asking the SVG lays all of it out, for each box that changed. @param {string} text */
  const lengthOf = (text) => (ruler ? ruler.measureText(text).width : 0);

  /** @param {Document} document_ */
  function draw(document_) {
    const style = document_.querySelector('metadata')?.textContent || '';
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style + MORE);
    root.adoptedStyleSheets = [sheet];
    const body = document.importNode(/** @type {SVGGElement} */ (document_.querySelector('svg > g')), true);
    svg = s('svg', { role: 'group', 'aria-label': 'The steps and arcs of the playbook. Arrow keys go from step to step, + and - zoom, 0 shows all, 1 makes it readable.' }, body);
    for (const one of body.querySelectorAll('script, foreignObject')) one.remove();
    root.replaceChildren(svg);
    const size = body.getBBox();
    const matrix = body.transform.baseVal.consolidate()?.matrix;
    const [left, top] = [matrix ? matrix.e : 0, matrix ? matrix.f : 0];
    for (const g of /** @type {NodeListOf<SVGGElement>} */ (svg.querySelectorAll('[data-n]'))) addBox(g, left, top);
    for (const g of /** @type {NodeListOf<SVGGElement>} */ (svg.querySelectorAll('[data-e]'))) {
      arrows.set(g.getAttribute('data-id') || '', { g, count: 0, times: null, stem: g.getAttribute('data-stem') });
    }
    for (const g of /** @type {NodeListOf<SVGGElement>} */ (svg.querySelectorAll('[data-s]'))) stems.set(g.getAttribute('data-s') || '', g);
    const label = boxes.values().next().value?.label;
    ruler = /** @type {CanvasRenderingContext2D} */ (h('canvas').getContext('2d'));
    if (label) ruler.font = getComputedStyle(label).font;
    view = viewport(stage, svg, { left: size.x + left - 16, top: size.y + top - 16, right: size.x + left + size.width + 16, bottom: size.y + top + size.height + 24 }, wordsIn(svg, left, top));
    svg.addEventListener('keydown', key);
    const first = boxes.values().next().value;
    if (first) enter(first);
    if (last) paint(last);
    const begin = sought()[0] || first;
    if (begin) view.begin(begin.frame);
    if (picked) mark(picked);
  }

  /** @param {SVGGElement} g @param {number} left @param {number} top where the picture begins */
  function addBox(g, left, top) {
    const id = g.getAttribute('data-id') || '';
    const name = id.replace(/^step /, '');
    const rect = g.querySelector(':scope > .b:last-of-type') || g.querySelector('.b');
    const [x, y, width, height] = ['x', 'y', 'width', 'height'].map((each) => Number(rect?.getAttribute(each) || 0));
    const label = s('text', { x: x + width / 2, y: y + height + 9, 'text-anchor': 'middle' });
    const note = s('g', { class: 'note' }, s('rect', { class: 'pill', rx: 8, height: 16, y: y + height - 3, x: x + width / 2, width: 0 }), label);
    note.style.display = 'none';
    g.append(note);
    if (!id.startsWith('step ')) return;
    g.append(s('rect', { class: 'ring', x: x - 5, y: y - 5, width: width + 10, height: height + 10, rx: 9 }));
    const box = { g, note, label, mark: '', facts: '', name, room: width - ENDS, frame: { left: x + left, top: y + top, right: x + left + width, bottom: y + top + height + 14 } };
    // One of them for Tab, and arrow keys for the others: who goes through the page is not held up by a thousand steps.
    g.setAttribute('tabindex', '-1');
    g.setAttribute('role', 'button');
    g.setAttribute('aria-label', `Step ${name}`);
    g.addEventListener('click', () => pick(name));
    g.addEventListener('focus', () => enter(box));
    boxes.set(name, box);
  }

  /** A text that is cut to a width. @param {string} text @param {number} room */
  function fitting(text, room) {
    const letters = [...text];
    while (letters.length > 1 && lengthOf(`${letters.join('')}…`) > room) letters.splice(Math.min(-1, -Math.floor(letters.length / 10)));
    return letters.join('') === text ? text : `${letters.join('').trimEnd()}…`;
  }

  /** As many facts as have room, the first one cut where it alone has none. @param {string[]} facts @param {number} room */
  function briefly(facts, room) {
    for (let count = facts.length; count > 0; count -= 1) {
      const text = facts.slice(0, count).join(AND) + (count < facts.length ? MORE_FACTS : '');
      if (lengthOf(text) <= room) return text;
    }
    return facts.length ? fitting(facts[0], room) : '';
  }

  /** @param {Box} box */
  function enter(box) {
    entry?.g.setAttribute('tabindex', '-1');
    entry = box;
    box.g.setAttribute('tabindex', '0');
    if (box.g.matches(':focus-visible')) view?.visit(box.frame);
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    if (!view || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = [...boxes.values()].find((one) => one.g === event.target);
    const acts = /** @type {Record<string, () => void>} */ ({
      '+': view.closer, '=': view.closer, '-': view.further, '0': view.fit, '1': readable,
      Enter: () => at && pick(at.name), ' ': () => at && pick(at.name),
      Home: () => boxes.values().next().value?.g.focus(), End: () => [...boxes.values()].pop()?.g.focus(),
      ArrowUp: () => at && nearest(at, 0, -1)?.g.focus(), ArrowDown: () => at && nearest(at, 0, 1)?.g.focus(),
      ArrowLeft: () => at && nearest(at, -1, 0)?.g.focus(), ArrowRight: () => at && nearest(at, 1, 0)?.g.focus(),
    });
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** The next box on a side. @param {Box} from @param {number} x @param {number} y */
  function nearest(from, x, y) {
    const middle = (/** @type {Frame} */ frame) => [(frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2];
    const [left, top] = middle(from.frame);
    let [found, least] = [/** @type {Box | null} */ (null), Infinity];
    for (const one of boxes.values()) {
      const [toX, toY] = middle(one.frame);
      const [along, aside] = x ? [(toX - left) * x, toY - top] : [(toY - top) * y, toX - left];
      const far = along + 2 * Math.abs(aside);
      if (along > 1 && far < least) [found, least] = [one, far];
    }
    return found;
  }

  /** The steps that are looked for now: those that failed, else those that run, wait or were cancelled. @returns {Box[]} */
  function sought() {
    for (const [mark_] of SOUGHT) {
      const found = [...boxes.values()].filter((one) => one.mark === mark_);
      if (found.length) return found;
    }
    return [];
  }

  /** Paint a state. @param {import('./frames.js').State} state */
  function paint(state) {
    last = state;
    if (!svg) return;
    for (const one of boxes.values()) {
      const [mark_, ...facts] = (state.steps || {})[one.name] || ['idle'];
      const shown = mark_ === 'idle' && toCome && !toCome.has(one.name) ? 'never' : mark_;
      const text = facts.join(AND);
      if (shown !== one.mark || text !== one.facts) one.g.setAttribute('aria-label', `Step ${one.name}: ${mark_ === 'idle' ? 'did not run' : mark_}${text ? `, ${text}` : ''}`);
      if (shown !== one.mark) {
        one.g.classList.remove(...MARKS);
        one.g.classList.add(shown);
        if (shown === 'never') one.g.classList.add('idle');
        one.mark = shown;
      }
      if (text !== one.facts) {
        one.facts = text;
        // There is little room, and that it waits is painted: what for comes first.
        const told = mark_ === 'waiting' ? facts.map((/** @type {string} */ fact) => fact.replace(/^waits (for )?/, '')).reverse() : facts;
        say(one.label, briefly(told, one.room));
        const title = one.g.querySelector(':scope > title');
        if (title) say(title, text ? `${one.name}: ${text}` : one.name);
        one.note.style.display = text ? '' : 'none';
        if (text) {
          const wide = lengthOf(one.label.textContent || '') + ENDS;
          const pill = /** @type {SVGElement} */ (one.note.firstChild);
          pill.setAttribute('width', String(wide));
          pill.setAttribute('x', String(Number(one.label.getAttribute('x')) - wide / 2));
        }
      }
    }
    const taken = new Set();
    for (const [id, one] of arrows) {
      const count = (state.arcs || {})[id] || 0;
      one.g.classList.toggle('failed', id in (state.faults || {}));
      if (count && one.stem) taken.add(one.stem);
      if (count === one.count) continue;
      one.count = count;
      one.g.classList.toggle('done', count > 0);
      if (count > 1 && !one.times) {
        const path = /** @type {SVGPathElement} */ (one.g.querySelector('.e'));
        const middle = path.getPointAtLength(path.getTotalLength() / 2);
        one.times = s('text', { class: 'times', x: middle.x + 5, y: middle.y + 4 });
        one.g.append(/** @type {SVGElement} */ (one.times));
      }
      if (one.times) say(one.times, count > 1 ? `× ${count}` : '');
    }
    for (const [name, g] of stems) g.classList.toggle('done', taken.has(name));
    tell();
  }

  /** Say what there is to be jumped to, and keep what happens in sight of who has chosen nothing else. */
  function tell() {
    const found = sought();
    jump.hidden = !found.length;
    if (!found.length || !view) return;
    const word = SOUGHT.find(([mark_]) => mark_ === found[0].mark)?.[1] || '';
    say(jump, found.length > 1 ? `${word} (${found.length.toLocaleString('en')})` : word);
    view.follow(found[found.length - 1].frame);
  }

  let jumped = '';
  /** Go to what is looked for, and with each press to the next of it. */
  function jumpOn() {
    const found = sought();
    const one = found[(found.findIndex((each) => each.name === jumped) + 1) % found.length];
    if (!one || !view) return;
    jumped = one.name;
    view.jump(one.frame);
    pick(one.name);
  }

  /** Letters that can be read, around what somebody looks at or for. */
  function readable() {
    view?.readable((boxes.get(picked) || sought()[0])?.frame);
  }

  /** @param {string} step */
  function mark(step) {
    boxes.get(picked)?.g.classList.remove('picked');
    const box = boxes.get(step);
    box?.g.classList.add('picked');
    picked = step;
    if (box && view) {
      view.show(box.frame);
      enter(box);
    }
  }

  /** @param {string} label @param {string} text @param {string} title @param {(to: ReturnType<typeof viewport>) => void} act */
  const button = (label, text, title, act) => h('button', { type: 'button', 'aria-label': label, title, onclick: () => view && act(view) }, text);
  const jump = h('button', { type: 'button', class: 'jump', hidden: true, title: 'Go to that step; again for the next one', onclick: jumpOn });
  const controls = h('div', { class: 'zoom', role: 'group', 'aria-label': 'View of the picture' }, jump, h('span', { class: 'gap' }),
    button('Smaller', '−', 'Smaller (−)', (to) => to.further()), button('Larger', '+', 'Larger (+), or the wheel with Ctrl', (to) => to.closer()),
    button('1:1, readable', '1:1', 'Letters that can be read (1)', readable), button('Fit', 'Fit', 'All of it (0)', (to) => to.fit()));

  root.append(waiting);
  const drawing = fetched(digest).then(draw, (error) => say(waiting, error.message));
  return {
    /** Settled once it is there, or cannot be. */
    drawing,
    stage,
    controls,
    paint,
    mark,
    /** Say which steps may still run. @param {string[] | null} steps */
    come(steps) {
      toCome = steps && new Set(steps);
      if (last) paint(last);
    },
    /** Say whether it is shown as it is now: only then what runs beats, which draws the picture all the time. @param {boolean} is */
    live(is) {
      stage.classList.toggle('live', is);
    },
    steps: () => [...boxes.keys()],
  };
}

/** A picture with its controls, in a card of its own. @param {HTMLElement} card @param {ReturnType<typeof picture>} one */
export function placePicture(card, one) {
  show(card, one.controls, one.stage);
}
