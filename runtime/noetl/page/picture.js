// The picture of a plan, painted with a state: the compiler's own SVG, whose boxes and arrows bear the ids of the plan.

import { h, s, say } from './dom.js';
import { address } from './server.js';

const MARKS = ['idle', 'done', 'running', 'failed', 'never'];
/** The scale below which letters are less than 3 pixels high. */
const READABLE = 0.25;
const MORE = `
  :host { display: block; }
  svg { width: 100%; height: 100%; display: block; touch-action: none; cursor: grab; user-select: none; }
  svg:active { cursor: grabbing; }
  .node { cursor: pointer; outline: none; }
  .node:focus-visible > .b, .node:hover > .b { stroke-width: 3; }
  .picked > .b { stroke-width: 3.6 !important; }
  /* Not by opacity: each box would be a layer of its own, and a frame of a thousand boxes takes a second. */
  .never > * { fill-opacity: .34; stroke-opacity: .34; }
  .idle > text { fill: var(--dim); }
  .never > text { fill-opacity: .72; text-decoration: line-through; }
  .tiny text, .tiny .pill { display: none; }
  .pill { fill: var(--page); stroke: currentColor; stroke-width: 1.2; }
  .note { color: var(--dim); }
  .done > .note { color: var(--completed); } .running > .note { color: var(--running); } .failed > .note { color: var(--failed); }
  .note text { font-weight: bold; fill: currentColor; font-size: 10.5px; }
  .times { font-weight: bold; fill: var(--completed); paint-order: stroke; stroke: var(--page); stroke-width: 4px; }
  @media (prefers-reduced-motion: no-preference) { :host(.live) .running > .b { animation: beat 1.4s ease-in-out infinite; } @keyframes beat { 50% { stroke-opacity: .35; } } }
`;

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

/**
 * A place for a picture.
 * @param {string} digest @param {(step: string) => void} pick
 */
export function picture(digest, pick) {
  const stage = h('div', { class: 'stage' });
  const root = stage.attachShadow({ mode: 'open' });
  const waiting = h('p', { class: 'empty' }, 'Drawing…');
  /** @type {Map<string, {g: SVGGElement, note: SVGGElement, label: SVGElement, mark: string, facts: string, name: string}>} */
  const boxes = new Map();
  /** @type {Map<string, {g: SVGGElement, count: number, times: SVGElement | null, stem: string | null}>} */
  const arrows = new Map();
  /** @type {Map<string, SVGGElement>} */
  const stems = new Map();
  /** @type {any} */
  let svg = null;
  let whole = [0, 0, 100, 100];
  let box = whole;
  /** @type {any} */
  let last = null;
  /** @type {Set<string> | null} */
  let toCome = null;
  let picked = '';
  /** @type {CanvasRenderingContext2D | null} */
  let ruler = null;

  /** How wide a text is. On a canvas, as asking the SVG lays all of it out, for each box that changed. @param {string} text */
  function lengthOf(text) {
    if (!ruler) {
      ruler = /** @type {CanvasRenderingContext2D} */ (h('canvas').getContext('2d'));
      const first = [...boxes.values()].find((one) => one.note.style.display === '');
      if (first) ruler.font = getComputedStyle(first.label).font;
    }
    return ruler.measureText(text).width;
  }

  function see() {
    svg.setAttribute('viewBox', box.join(' '));
    // Letters that nobody can read are most of what there is to paint in a large picture.
    svg.classList.toggle('tiny', Math.min(stage.clientWidth / box[2], stage.clientHeight / box[3]) < READABLE);
  }

  function fit() {
    box = [...whole];
    see();
  }

  /** @param {number} by @param {number} [x] @param {number} [y] share of the stage that stays where it is */
  function zoom(by, x = 0.5, y = 0.5) {
    const [left, top, width, height] = box;
    const size = Math.min(Math.max(width * by, whole[2] / 60), whole[2] * 3);
    const factor = size / width;
    box = [left + width * x * (1 - factor), top + height * y * (1 - factor), size, height * factor];
    see();
  }

  /** @param {Document} document_ */
  function draw(document_) {
    const style = document_.querySelector('metadata')?.textContent || '';
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style + MORE);
    root.adoptedStyleSheets = [sheet];
    const body = document.importNode(/** @type {SVGGElement} */ (document_.querySelector('svg > g')), true);
    svg = s('svg', { role: 'group', 'aria-label': 'The steps and arcs of the playbook' }, body);
    for (const one of body.querySelectorAll('script, foreignObject')) one.remove();
    root.replaceChildren(svg);
    for (const g of /** @type {NodeListOf<SVGGElement>} */ (svg.querySelectorAll('[data-n]'))) addBox(g);
    for (const g of /** @type {NodeListOf<SVGGElement>} */ (svg.querySelectorAll('[data-e]'))) {
      arrows.set(g.getAttribute('data-id') || '', { g, count: 0, times: null, stem: g.getAttribute('data-stem') });
    }
    for (const g of /** @type {NodeListOf<SVGGElement>} */ (svg.querySelectorAll('[data-s]'))) stems.set(g.getAttribute('data-s') || '', g);
    const size = body.getBBox();
    const matrix = body.transform.baseVal.consolidate()?.matrix;
    whole = [size.x + (matrix ? matrix.e : 0) - 16, size.y + (matrix ? matrix.f : 0) - 16, size.width + 32, size.height + 40];
    // A small picture is not blown up to fill the stage.
    const share = Math.max(1, stage.clientWidth / 1.25 / whole[2]);
    whole = [whole[0] - (whole[2] * (share - 1)) / 2, whole[1], whole[2] * share, whole[3]];
    fit();
    svg.addEventListener('wheel', (/** @type {WheelEvent} */ event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const at = svg.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, (event.clientX - at.left) / at.width, (event.clientY - at.top) / at.height);
    }, { passive: false });
    drag();
    if (last) paint(last);
  }

  /** @param {SVGGElement} g */
  function addBox(g) {
    const id = g.getAttribute('data-id') || '';
    const name = id.replace(/^step /, '');
    const rect = g.querySelector(':scope > .b:last-of-type') || g.querySelector('.b');
    const [x, y, width, height] = ['x', 'y', 'width', 'height'].map((key) => Number(rect?.getAttribute(key) || 0));
    const label = s('text', { x: x + width / 2, y: y + height + 9, 'text-anchor': 'middle' });
    const note = s('g', { class: 'note' }, s('rect', { class: 'pill', rx: 8, height: 16, y: y + height - 3, x: x + width / 2, width: 0 }), label);
    note.style.display = 'none';
    g.append(note);
    if (!id.startsWith('step ')) return;
    g.setAttribute('tabindex', '0');
    g.setAttribute('role', 'button');
    g.setAttribute('aria-label', `Step ${name}`);
    g.addEventListener('click', () => pick(name));
    g.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        pick(name);
      }
    });
    boxes.set(name, { g, note, label, mark: '', facts: '', name });
  }

  function drag() {
    /** @type {[number, number] | null} */
    let from = null;
    svg.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
      if (/** @type {Element} */ (event.target).closest('.node')) return;
      from = [event.clientX, event.clientY];
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
      if (!from) return;
      const scale = Math.max(box[2] / svg.clientWidth, box[3] / svg.clientHeight);
      box = [box[0] - (event.clientX - from[0]) * scale, box[1] - (event.clientY - from[1]) * scale, box[2], box[3]];
      from = [event.clientX, event.clientY];
      see();
    });
    const end = () => {
      from = null;
    };
    svg.addEventListener('pointerup', end);
    svg.addEventListener('pointercancel', end);
  }

  /** Paint a state. @param {import('./frames.js').State} state */
  function paint(state) {
    last = state;
    if (!svg) return;
    for (const one of boxes.values()) {
      const [mark, ...facts] = (state.steps || {})[one.name] || ['idle'];
      const shown = mark === 'idle' && toCome && !toCome.has(one.name) ? 'never' : mark;
      const text = facts.join(' · ');
      if (shown !== one.mark || text !== one.facts) one.g.setAttribute('aria-label', `Step ${one.name}: ${mark === 'idle' ? 'did not run' : mark}${text ? `, ${text}` : ''}`);
      if (shown !== one.mark) {
        one.g.classList.remove(...MARKS);
        one.g.classList.add(shown);
        if (shown === 'never') one.g.classList.add('idle');
        one.mark = shown;
      }
      if (text !== one.facts) {
        one.facts = text;
        say(one.label, text);
        one.note.style.display = text ? '' : 'none';
        if (text) {
          const wide = lengthOf(text) + 16;
          const pill = /** @type {SVGElement} */ (one.note.firstChild);
          pill.setAttribute('width', String(wide));
          pill.setAttribute('x', String(Number(one.label.getAttribute('x')) - wide / 2));
        }
      }
    }
    const taken = new Set();
    for (const [id, one] of arrows) {
      const count = (state.arcs || {})[id] || 0;
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
  }

  /** @param {string} label @param {string} text @param {() => void} act */
  const button = (label, text, act) => h('button', { type: 'button', 'aria-label': label, onclick: () => svg && act() }, text);
  const controls = h('div', { class: 'zoom' }, button('Larger', '+', () => zoom(1 / 1.3)), button('Smaller', '−', () => zoom(1.3)), button('Fit', 'Fit', fit));

  root.append(waiting);
  const drawing = fetched(digest).then(draw, (error) => say(waiting, error.message));
  return {
    /** Settled once it is there, or cannot be. */
    drawing,
    stage,
    controls,
    paint,
    /** Say which steps may still run. @param {string[] | null} steps */
    come(steps) {
      toCome = steps && new Set(steps);
      if (last) paint(last);
    },
    /** Say whether it is shown as it is now: only then what runs beats, which draws the picture all the time. @param {boolean} is */
    live(is) {
      stage.classList.toggle('live', is);
    },
    /** @param {string} step */
    mark(step) {
      boxes.get(picked)?.g.classList.remove('picked');
      boxes.get(step)?.g.classList.add('picked');
      picked = step;
    },
    steps: () => [...boxes.keys()],
  };
}
