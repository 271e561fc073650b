// Where somebody looks at a picture: its scale and its middle, moved by wheel, fingers, mouse, keyboard and buttons.

/** Pixels of a unit at most, and so many that the smallest letters, of 11 units, have 11 pixels. */
const LARGEST = 4;
const READABLE = 1;
/** A small picture is not blown up to fill the stage. */
const MOST_FIT = 1.25;
/** The scale of a whole picture from which it is shown whole at first: letters of 9 pixels. */
const SURVEY = 0.82;
/** The scale below which letters are less than 3 pixels high. */
const TINY = 0.25;
/** How much closer a press of a button or key goes, and pixels that are a drag, and no click. */
const STEP = 1.4;
const DRAG = 4;

/** Pixels around the stage in which there are words that cannot be seen yet. */
const AROUND = 300;

/** @typedef {{left: number, top: number, right: number, bottom: number}} Frame in units of the picture */
/** @typedef {{element: Element, parent: Element, frame: Frame}} Words a text of the picture, and where it stands */

/**
 * The view of a picture on a stage; `whole` is where the picture lies. Of its `words` only those are in it that can be
 * read: a browser lays out every text anew for each scale, which takes a tenth of a second for six thousand of them.
 * @param {HTMLElement} stage @param {any} svg @param {Frame} whole @param {Words[]} words
 */
export function viewport(stage, svg, whole, words) {
  let scale = 1;
  let [x, y] = [(whole.left + whole.right) / 2, (whole.top + whole.bottom) / 2];
  /** Whether all of it is shown, whatever the size of the stage. */
  let fitted = true;
  /** Whether somebody has chosen what to see. */
  let chosen = false;
  const order = words.toSorted((a, b) => a.frame.top - b.frame.top);
  const tallest = order.reduce((most, one) => Math.max(most, one.frame.bottom - one.frame.top), 0);
  let there = new Set(order);

  /** The size of the stage in pixels; kept, since to ask for it has all that was painted laid out. */
  let extent = [stage.clientWidth || 1, stage.clientHeight || 1];
  const size = () => extent;
  // Of a large picture no one presses a key twenty times.
  const stride = () => (smallest() < TINY ? STEP * STEP : STEP);
  const smallest = () => Math.min(MOST_FIT, size()[0] / (whole.right - whole.left), size()[1] / (whole.bottom - whole.top));

  /** @returns {Frame} what can be seen, and so many pixels around it @param {number} [around] */
  function seen(around = 0) {
    const [wide, high] = size().map((one) => (one / 2 + around) / scale);
    return { left: x - wide, top: y - high, right: x + wide, bottom: y + high };
  }

  function see() {
    const [wide, high] = size();
    const least = smallest();
    scale = fitted ? least : Math.min(LARGEST, Math.max(scale, least));
    x = Math.min(whole.right, Math.max(whole.left, x));
    y = Math.min(whole.bottom, Math.max(whole.top, y));
    if (fitted) [x, y] = [(whole.left + whole.right) / 2, (whole.top + whole.bottom) / 2];
    svg.setAttribute('viewBox', `${x - wide / 2 / scale} ${y - high / 2 / scale} ${wide / scale} ${high / scale}`);
    svg.classList.toggle('tiny', scale < TINY);
    cull();
  }

  /** Take out words that cannot be read or seen, and put in those that can. */
  function cull() {
    /** @type {Set<Words>} */
    const now = new Set();
    const room = seen(AROUND);
    let [from, to] = [0, scale < TINY ? 0 : order.length];
    // None before it is tall enough to reach into the room.
    while (from < to) {
      const middle = (from + to) >> 1;
      if (order[middle].frame.top < room.top - tallest) from = middle + 1;
      else to = middle;
    }
    for (let at = from; scale >= TINY && at < order.length && order[at].frame.top <= room.bottom; at += 1) {
      const { frame } = order[at];
      if (frame.bottom >= room.top && frame.right >= room.left && frame.left <= room.right) now.add(order[at]);
    }
    for (const one of there) if (!now.has(one)) one.element.remove();
    for (const one of now) if (!there.has(one)) one.parent.append(one.element);
    there = now;
  }

  /** @param {number} by @param {number} [atX] @param {number} [atY] pixels from the corner of the stage that stay where they are */
  function zoom(by, atX = size()[0] / 2, atY = size()[1] / 2) {
    const [wide, high] = size();
    const [awayX, awayY] = [atX - wide / 2, atY - high / 2];
    const before = scale;
    [fitted, chosen] = [false, true];
    scale = Math.min(LARGEST, Math.max(scale * by, smallest()));
    x += awayX / before - awayX / scale;
    y += awayY / before - awayY / scale;
    see();
  }

  /** @param {number} byX @param {number} byY pixels */
  function move(byX, byY) {
    [fitted, chosen] = [false, true];
    x += byX / scale;
    y += byY / scale;
    see();
  }

  /** Show all of it. */
  function fit() {
    [fitted, chosen] = [true, true];
    see();
  }

  /** Bring something into sight; `readably` so that its letters can be read. @param {Frame} frame @param {boolean} readably */
  function reveal(frame, readably) {
    const room = seen(-24);
    const inside = frame.left >= room.left && frame.right <= room.right && frame.top >= room.top && frame.bottom <= room.bottom;
    const legible = scale >= READABLE || !readably;
    if (inside && legible) return;
    fitted = false;
    if (!legible) scale = READABLE;
    [x, y] = [(frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2];
    see();
  }

  /** Bring something into sight, readably, unless it is there already, however small. @param {Frame} frame */
  function show(frame) {
    const room = seen();
    const inside = frame.left >= room.left && frame.right <= room.right && frame.top >= room.top && frame.bottom <= room.bottom;
    if (inside) return;
    reveal(frame, true);
    chosen = true;
  }

  /** Bring what the keyboard comes to into sight, and stay there. @param {Frame} frame */
  function visit(frame) {
    reveal(frame, false);
    chosen = true;
  }

  /** Go to something that is looked for, and from now on with what happens. @param {Frame} frame */
  function jump(frame) {
    reveal(frame, true);
    chosen = false;
  }

  /** Keep what happens in sight, where nobody has chosen what to see. @param {Frame} frame */
  function follow(frame) {
    if (!chosen && !fitted) reveal(frame, false);
  }

  /** Show what is legible as a whole, else its part around something. @param {Frame} frame */
  function begin(frame) {
    fitted = smallest() >= SURVEY;
    if (!fitted) reveal(frame, true);
    else see();
    chosen = false;
  }

  function wheel(/** @type {WheelEvent} */ event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = stage.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 400), event.clientX - at.left, event.clientY - at.top);
  }

  /** @type {Map<number, [number, number]>} */
  const fingers = new Map();
  let drags = false;

  function down(/** @type {PointerEvent} */ event) {
    if (event.button) return;
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    if (fingers.size === 1) drags = false;
  }

  function drag(/** @type {PointerEvent} */ event) {
    const from = fingers.get(event.pointerId);
    if (!from) return;
    const [byX, byY] = [event.clientX - from[0], event.clientY - from[1]];
    if (!drags && Math.hypot(byX, byY) < DRAG) return;
    // Only a drag takes the pointer: what is clicked is the box below it.
    if (!drags) svg.setPointerCapture(event.pointerId);
    drags = true;
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (!other) {
      move(-byX, -byY);
      return;
    }
    const at = stage.getBoundingClientRect();
    const apart = (/** @type {[number, number]} */ one) => Math.hypot(one[0] - other[0], one[1] - other[1]) || 1;
    zoom(apart([event.clientX, event.clientY]) / apart(from), (event.clientX + other[0]) / 2 - at.left, (event.clientY + other[1]) / 2 - at.top);
  }

  function up(/** @type {PointerEvent} */ event) {
    fingers.delete(event.pointerId);
  }

  svg.addEventListener('wheel', wheel, { passive: false });
  svg.addEventListener('pointerdown', down);
  svg.addEventListener('pointermove', drag);
  svg.addEventListener('pointerup', up);
  svg.addEventListener('pointercancel', up);
  new ResizeObserver(() => {
    extent = [stage.clientWidth || 1, stage.clientHeight || 1];
    see();
  }).observe(stage);
  see();

  return {
    fit,
    show,
    visit,
    jump,
    follow,
    begin,
    closer: () => zoom(stride()),
    further: () => zoom(1 / stride()),
    /** Letters of 11 pixels and more: around what is to be seen, if it cannot be read now, else around the middle. @param {Frame} [frame] */
    readable(frame) {
      if (frame && scale < READABLE) reveal(frame, true);
      else zoom(READABLE / scale);
      chosen = true;
    },
    move,
  };
}
