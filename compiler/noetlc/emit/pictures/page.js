// The script of the HTML page (`html.py`).
//
// The script knows boxes with places, arrows with points, and parts that can be folded. A folded part is drawn as its
// first box, with a badge; room that nothing is left in is taken away, which moves boxes but never over each other.
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id), NS = 'http://www.w3.org/2000/svg';
const make = (name, attributes, text) => {
  const e = document.createElementNS(NS, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (text !== undefined) e.textContent = text;
  return e;
};
const views = [...document.querySelectorAll('.view')];
let now = 0, hits = [], hit = -1, chosen = null;
const pages = views.map((svg, i) => prepare(svg, data.pictures[i]));

function prepare(svg, p) {
  const root = svg.querySelector('.root'), nodes = [], edges = [];
  for (const g of svg.querySelectorAll('[data-n]')) {
    const path = g.dataset.n.split('.').map(Number);
    if (path.length === 1) nodes[path[0]] = g;
    g.addEventListener('click', event => {
      event.stopPropagation();
      if (!moved) choose(path.length === 1 ? p.nodes[path[0]] : p.nodes[path[0]].inner[path[1]], g, path);
    });
  }
  for (const g of svg.querySelectorAll('[data-e]')) {
    if (g.dataset.e.includes('.')) continue;
    edges[Number(g.dataset.e)] = g;
    g.addEventListener('click', event => {
      event.stopPropagation();
      if (!moved) choose(p.edges[Number(g.dataset.e)], g, null);
    });
  }
  const stems = [...root.children].filter(g => g.classList.contains('stem'));
  p.folds.forEach(f => { f.set = new Set(f.members); });
  const badges = new Map();
  for (const f of p.folds) {
    const first = f.members[0];
    if (badges.has(first)) continue;
    const [x, y, w, h] = p.nodes[first].box;
    const g = make('g', {class: 'badge', transform: `translate(${x - w / 2} ${y - h / 2})`});
    g.append(make('rect', {y: -10, height: 20, rx: 10}));
    g.append(make('text', {y: 3.5, 'text-anchor': 'middle'}), make('title', {}));
    g.addEventListener('click', event => { event.stopPropagation(); if (!moved) toggle(first); });
    nodes[first].append(g);
    badges.set(first, g);
  }
  return {svg, root, p, nodes, edges, stems, badges, x: 0, y: 0, k: 1};
}

function choice(p, first) {
  const here = p.folds.filter(f => f.members[0] === first);
  return here.find(f => f.closed) || here[here.length - 1];
}
function toggle(first) { const f = choice(pages[now].p, first); f.closed = !f.closed; draw(); }

// Where things go when room is taken away: `spans` are kept as they are, wide gaps between them shrink.
function squeeze(spans, most) {
  spans.sort((a, b) => a[0] - b[0]);
  const at = [], to = [];
  let end = -Infinity, shift = 0;
  for (const [a, b] of spans) {
    if (a > end) {
      if (end > -Infinity) {
        at.push(end); to.push(end - shift);
        shift += Math.max(0, a - end - most);
      }
      at.push(a); to.push(a - shift);
    }
    end = Math.max(end, b);
  }
  at.push(end); to.push(end - shift);
  return v => {
    let low = 0, high = at.length - 1;
    if (v <= at[0]) return v - at[0] + to[0];
    if (v >= at[high]) return v - at[high] + to[high];
    while (high - low > 1) { const m = (low + high) >> 1; if (at[m] <= v) low = m; else high = m; }
    const room = at[high] - at[low];
    return room ? to[low] + (v - at[low]) * (to[high] - to[low]) / room : to[low];
  };
}

function stroke(points, form, head) {
  const at = i => `${points[2 * i].toFixed(1)} ${points[2 * i + 1].toFixed(1)}`, n = points.length / 2;
  const [x, y] = points.slice(-2);
  if (form === 'loop') {
    const a = points[0] + 30;
    return [`M${at(0)}C${a} ${points[1] - 8} ${a} ${y + 8} ${x + 4} ${y}`, x, y, -1, 0];
  }
  if (form === 'straight') {
    const dx = x - points[0], dy = y - points[1], l = Math.hypot(dx, dy) || 1;
    return [`M${at(0)}L${at(1)}`, x, y, dx / l, dy / l];
  }
  const down = y > points[1] ? 1 : -1;
  let d = `M${at(0)}`;
  for (let i = 0; i < n; i += 2) {
    if (i) {
      const [ax, ay, bx, by] = [points[2 * i - 2], points[2 * i - 1], points[2 * i], points[2 * i + 1]];
      d += ax === bx ? `L${at(i)}` : `C${ax.toFixed(1)} ${((ay + by) / 2).toFixed(1)} ${bx.toFixed(1)} `
        + `${((ay + by) / 2).toFixed(1)} ${at(i)}`;
    }
    d += i + 2 === n && head ? `L${x.toFixed(1)} ${(y - 4 * down).toFixed(1)}` : `L${at(i + 1)}`;
  }
  return [d, x, y, 0, down];
}
let reach = [0, 0, 0, 0];                       // what is drawn now: left, top, right, bottom
function extend(x, y) {
  reach = [Math.min(reach[0], x), Math.min(reach[1], y), Math.max(reach[2], x), Math.max(reach[3], y)];
}
function put(g, points, form, head) {
  for (let i = 0; i < points.length; i += 2) extend(points[i], points[i + 1]);
  const [d, x, y, dx, dy] = stroke(points, form, head);
  g.querySelector('.e').setAttribute('d', d);
  let a = g.querySelector('.a');
  if (!a && head) { a = make('path', {class: 'a'}); g.append(a); }
  if (!a) return;
  a.classList.toggle('gone', !head);
  const bx = x - 8 * dx, by = y - 8 * dy;
  a.setAttribute('d', `M${x} ${y}L${bx - 4 * dy} ${by + 4 * dx}L${bx + 4 * dy} ${by - 4 * dx}Z`);
}

function draw() {
  const {p, nodes, edges, stems, badges} = pages[now];
  const owner = p.nodes.map((_, i) => i), wrapped = new Map();
  for (const f of [...p.folds].reverse()) {      // those inside come after those around them
    if (!f.closed) continue;
    for (const m of f.members) owner[m] = f.members[0];
    wrapped.set(f.members[0], f);
  }
  const seen = owner.map((o, i) => o === i), plain = i => seen[i] && !wrapped.has(i);
  const kept = new Map(), whole = [], labels = new Set();
  p.edges.forEach((e, i) => {
    const [a, b] = e.ends.map(n => owner[n]), key = `${a} ${b} ${e.kind}`;
    const same = plain(e.ends[0]) && seen[e.ends[1]];
    whole[i] = same;
    if (same) { kept.set(i, [a, b]); if (e.label) labels.add(i); }
    else if (a !== b && !kept.has(key)) { kept.set(key, i); kept.set(i, [a, b]); }
  });
  const any = p.folds.some(f => f.closed), xs = [], ys = [];
  if (any) {
    const take = ([x, y, w, h]) => { xs.push([x - w / 2, x + w / 2]); ys.push([y - h / 2, y + h / 2]); };
    p.nodes.forEach((n, i) => { if (seen[i]) take(n.box); });
    p.edges.forEach((e, i) => { if (labels.has(i)) take(e.label); });
  }
  const fx = any ? squeeze(xs, 60) : v => v, fy = any ? squeeze(ys, 56) : v => v;
  const move = points => points.map((v, i) => i % 2 ? fy(v) : fx(v));
  // Boxes move as they are; what is fixed to their edges moves with them.
  const shiftOf = i => { const [x, y] = p.nodes[i].box; return [fx(x) - x, fy(y) - y]; };
  reach = [Infinity, Infinity, -Infinity, -Infinity];
  p.nodes.forEach((n, i) => {
    nodes[i].classList.toggle('gone', !seen[i]);
    nodes[i].classList.toggle('wrapped', wrapped.has(i));
    const [dx, dy] = shiftOf(i), [x, y, w, h] = n.box;
    if (seen[i]) { extend(x + dx - w / 2, y + dy - h / 2); extend(x + dx + w / 2, y + dy + h / 2); }
    nodes[i].setAttribute('transform', `translate(${dx} ${dy})`);
  });
  for (const [first, g] of badges) {
    const f = choice(p, first), [pill, text, title] = g.children;
    text.textContent = f.closed ? `+${f.members.length - 1}` : '−';
    const wide = 14 + 6.5 * text.textContent.length;
    pill.setAttribute('x', -wide / 2); pill.setAttribute('width', wide);
    title.textContent = `${f.closed ? 'Unfold' : 'Fold'} ${f.title} (${f.members.length} boxes)`;
  }
  const fixed = (points, i, last) => {           // an end that sits on a box
    const [dx, dy] = shiftOf(i), k = last ? points.length - 2 : 0, out = move(points);
    out[k] = points[k] + dx; out[k + 1] = points[k + 1] + dy;
    return out;
  };
  const joins = p.stems.map(() => Infinity);
  p.edges.forEach((e, i) => {
    const g = edges[i], ends = kept.get(i);
    g.classList.toggle('gone', !ends);
    if (!ends) return;
    const label = g.querySelector('.label');
    if (label) label.classList.toggle('gone', !labels.has(i));
    if (whole[i]) {
      let points = fixed(e.points, e.ends[0], false), head = true;
      if (e.form !== 'rows') { const [dx, dy] = shiftOf(e.ends[0]);
        if (e.form === 'loop') points = e.points.map((v, k) => v + (k % 2 ? dy : dx));
        else points = [...points.slice(0, 2), ...fixed(e.points, e.ends[1], true).slice(-2)];
      } else if (e.stem < 0) points.splice(-2, 2, ...fixed(e.points, e.ends[1], true).slice(-2));
      else { joins[e.stem] = Math.min(joins[e.stem], e.join); head = false; }
      put(g, points, e.form, head);
      if (label) {
        const [x, y] = e.label;
        label.setAttribute('transform', `translate(${fx(x) - x} ${fy(y) - y})`);
      }
      return;
    }
    const [a, b] = ends.map(n => { const [x, y, w, h] = p.nodes[n].box; return [fx(x), fy(y), w, h]; });
    if (seen[e.ends[1]] && e.form === 'rows') {   // from the folded part straight down, or up, to the rest of its way
      const route = e.stem < 0 ? fixed(e.points, e.ends[1], true) : move(e.points);
      const up = route[1] > route[route.length - 1];
      const s = a[1] + (up ? -a[3] : a[3]) / 2, rest = [];
      for (let k = 4; k < route.length; k += 4)
        if (up ? route[k + 1] < s - 8 : route[k + 1] > s + 8) rest.push(...route.slice(k, k + 4));
      if (rest.length) {
        const turn = up ? Math.min(s, Math.max(route[3], rest[1])) : Math.max(s, Math.min(route[3], rest[1]));
        put(g, [a[0], s, a[0], turn, ...rest], 'rows', e.stem < 0);
        if (e.stem >= 0) joins[e.stem] = Math.min(joins[e.stem], e.join);
        return;
      }
    }
    const down = a[1] < b[1] ? 1 : -1;
    if (Math.abs(a[1] - b[1]) < (a[3] + b[3]) / 2) put(g, [a[0], a[1], b[0], b[1]], 'straight', false);
    else {
      const s = a[1] + down * a[3] / 2, t = b[1] - down * b[3] / 2;
      put(g, [a[0], s, a[0], s, b[0], t, b[0], t], 'rows', true);
    }
  });
  stems.forEach((g, i) => {
    const is = joins[i] < Infinity;
    g.classList.toggle('gone', !is);
    if (!is) return;
    const target = p.edges.find(e => e.stem === i).ends[1];
    put(g, fixed(p.stems[i][0], target, true).slice(2 * joins[i]), 'rows', true);
  });
  pages[now].bounds = reach;
}

function place() {
  const v = pages[now];
  v.root.setAttribute('transform', `translate(${v.x} ${v.y}) scale(${v.k})`);
}
function fit() {
  const v = pages[now], {width, height} = $('stage').getBoundingClientRect(), [a, b, c, d] = v.bounds;
  v.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const k = Math.min(1.25, (width - 40) / Math.max(1, c - a));
  v.k = Math.min(k, Math.max((height - 40) / Math.max(1, d - b), Math.min(k, .55)));
  v.x = (width - (c - a) * v.k) / 2 - a * v.k;
  v.y = Math.max(20, (height - (d - b) * v.k) / 2) - b * v.k;
  place();
}
function zoom(by, x, y) {
  const v = pages[now], k = Math.min(6, Math.max(.02, v.k * by)), r = k / v.k;
  v.x = x - (x - v.x) * r; v.y = y - (y - v.y) * r; v.k = k;
  place();
}
function center(i) {
  const v = pages[now], {width, height} = $('stage').getBoundingClientRect();
  const t = v.nodes[i].transform.baseVal.consolidate(), [x, y] = v.p.nodes[i].box;
  const m = t ? t.matrix : {e: 0, f: 0};
  v.k = Math.max(v.k, .8);
  v.x = width / 2 - (x + m.e) * v.k; v.y = height / 2 - (y + m.f) * v.k;
  place();
}

let held = null, moved = false;
const stage = $('stage');
stage.addEventListener('pointerdown', e => { if (e.button === 0) { held = [e.clientX, e.clientY]; moved = false; } });
window.addEventListener('pointermove', e => {
  if (!held) return;
  const dx = e.clientX - held[0], dy = e.clientY - held[1];
  if (!moved && Math.hypot(dx, dy) < 4) return;
  moved = true; stage.classList.add('drag');
  pages[now].x += dx; pages[now].y += dy; held = [e.clientX, e.clientY];
  place();
});
window.addEventListener('pointerup', () => { held = null; stage.classList.remove('drag'); });
stage.addEventListener('click', () => { if (!moved) overview(); });
stage.addEventListener('wheel', e => {
  e.preventDefault();
  const box = stage.getBoundingClientRect(), step = e.deltaMode === 1 ? 18 : 1;
  zoom(Math.exp(-e.deltaY * step * .0015), e.clientX - box.left, e.clientY - box.top);
}, {passive: false});
const middle = by => { const b = stage.getBoundingClientRect(); zoom(by, b.width / 2, b.height / 2); };
$('in').onclick = () => middle(1.25); $('out').onclick = () => middle(.8); $('fit').onclick = fit;
const all = closed => { pages[now].p.folds.forEach(f => { f.closed = closed; }); draw(); fit(); };
$('fold').onclick = () => all(true); $('unfold').onclick = () => all(false);
$('which').onchange = () => show(Number($('which').value));
window.addEventListener('keydown', e => {
  if (e.target === $('search')) {
    if (e.key === 'Escape') { $('search').value = ''; search(); $('search').blur(); }
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === '/') { e.preventDefault(); $('search').focus(); }
  else if (e.key === '+' || e.key === '=') middle(1.25);
  else if (e.key === '-') middle(.8);
  else if (e.key === '0') fit();
  else if (e.key === 'Escape') overview();
});

function search() {
  const word = $('search').value.trim().toLowerCase(), v = pages[now];
  const says = n => [n.title, ...n.says, ...n.notes, ...n.inner.flatMap(t => [t.title, ...t.says, ...t.notes])];
  const found = i => says(v.p.nodes[i]).some(s => s.toLowerCase().includes(word));
  hits = word ? v.p.nodes.map((n, i) => i).filter(found) : [];
  hit = -1;
  const set = new Set(hits);
  v.nodes.forEach((g, i) => {
    g.classList.toggle('hit', set.has(i));
    g.classList.toggle('faint', word !== '' && !set.has(i));
  });
  $('count').textContent = word ? String(hits.length) : '';
}
$('search').addEventListener('input', search);
$('search').addEventListener('keydown', e => {
  if (e.key !== 'Enter' || !hits.length) return;
  hit = (hit + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
  const v = pages[now], i = hits[hit];
  v.p.folds.forEach(f => { if (f.set.has(i)) f.closed = false; });
  draw(); center(i);
  choose(v.p.nodes[i], v.nodes[i], [i]);
  $('count').textContent = `${hit + 1} of ${hits.length}`;
});

const side = $('side');
const say = (tag, text, parent = side) => {
  const e = document.createElement(tag); e.textContent = text; parent.append(e); return e;
};
function choose(what, g, path) {
  if (chosen) chosen.classList.remove('on');
  chosen = g; g.classList.add('on');
  side.replaceChildren();
  const v = pages[now];
  say('h2', what.title !== undefined ? what.title : what.ends.map(n => v.p.nodes[n].title).join(' → '));
  what.says.forEach(text => say('p', text));
  if (what.notes.length) { say('h3', 'Findings and errors'); what.notes.forEach(text => say('p', text)); }
  if (path && path.length === 1) {
    const here = v.p.folds.filter(f => f.members[0] === path[0]);
    if (here.length) say('h3', 'Parts that begin here');
    for (const f of here) {
      const b = say('button', `${f.closed ? 'Unfold' : 'Fold'} ${f.title}, ${f.members.length} boxes`);
      b.onclick = () => { f.closed = !f.closed; draw(); choose(what, g, path); };
    }
  }
  if (what.span && what.span[0] > 0) source(what.span);
}
function source([line, , end, column]) {
  const last = column === 1 && end > line ? end - 1 : end, from = Math.max(1, line - 3);
  const to = Math.min(data.source.length, last + 3, from + 400);
  say('h3', `${data.name}:${line}`);
  const pre = say('pre', '');
  for (let n = from; n <= to; n++) {
    const row = say('div', '', pre);
    if (n >= line && n <= last) row.className = 'on';
    say('span', String(n), row);
    row.append(data.source[n - 1]);
  }
}
function overview() {
  if (chosen) chosen.classList.remove('on');
  chosen = null;
  side.replaceChildren();
  const p = pages[now].p;
  say('h2', p.title);
  say('p', `${p.nodes.length} boxes, ${p.edges.length} arrows.`);
  say('p', 'Click one for its source; drag to move, scroll to zoom.');
  if (p.folds.length) say('p', 'The round badges fold and unfold parts with one way in and one way out.');
  if (p.captions.length) { say('h3', 'Notes'); p.captions.forEach(text => say('p', text)); }
  const key = document.getElementById('legend' + now);
  if (key) { say('h3', 'Signs'); const copy = key.cloneNode(true); copy.removeAttribute('hidden'); side.append(copy); }
}
function show(i) {
  views.forEach((svg, n) => { svg.style.display = n === i ? '' : 'none'; });
  now = i; draw(); fit(); search(); overview();
}
show(0);
window.addEventListener('resize', fit);
})();
