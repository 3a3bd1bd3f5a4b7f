// The network: boxes and arrows in units of the height of a line's box. Nodes are dragged, the view zoomed and panned.

const nodes = data.names.map((name) => ({ name, x: 0, y: 0, edges: [] }));
const words = new Map(data.tags.map(([i, j, ...tag]) => [`${i} ${j}`, tag]));
let svg, home, frame, layout, routes, homes, touched = false;
const arrows = new Map(); // link -> its arrow

function startGraph() {
  svg = make('svg', { role: 'group', 'aria-label': `Network of ${nodes.length} nodes and ${found.length} links` });
  byId('graph').append(svg);
  byId('tag-key').hidden = !words.size;
  svg.classList.toggle('many', found.length > 120); // then lags are shown with the links that are pointed at
  const edges = [...found].sort((a, b) => (b.te ?? 0) - (a.te ?? 0)).map(edge);
  for (const made of edges) arrows.set(made.link, made);
  svg.append(...edges.map((e) => e.group), ...nodes.map(pill), ...edges.filter((e) => e.tag).map((e) => e.tag));
  fit();
  addEventListener('resize', fit);
  follow(() => {
    edges.forEach((e) => {
      const off = !passes(e.link);
      e.group.classList.toggle('off', off);
      e.tag?.classList.toggle('off', off);
      const opacity = view.fade ? data.palest + (1 - data.palest) * (e.link.stability ?? 1) : 1;
      e.shaft.style.opacity = e.head.style.opacity = opacity;
      e.shaft.style.stroke = e.head.style.stroke = colour(e.link);
      e.head.style.fill = e.link.effect < 0 ? 'var(--raised)' : colour(e.link);
    });
    nodes.forEach((node, i) => {
      node.group.classList.toggle('named', view.name !== '' && isNamed(i));
      node.group.classList.toggle('away', !view.alone && !node.edges.some((e) => passes(e.link)));
    });
  });
  addEventListener('pointerdown', calm, { capture: true });
  svg.addEventListener('pointerdown', pan);
  svg.addEventListener('wheel', (event) => {
    const meant = event.ctrlKey || event.metaKey;
    if (!meant && !svg.classList.contains('zoomed')) return; // the page scrolls, until a zoom was asked for
    event.preventDefault();
    zoom(Math.exp(event.deltaY * (meant ? 0.004 : 0.0015)), event);
  }, { passive: false });
  byId('closer').addEventListener('click', () => zoom(1 / 1.3));
  byId('farther').addEventListener('click', () => zoom(1.3));
  byId('whole').addEventListener('click', () => { touched = false; layout = null; fit(); });
}

// --- arrows ---------------------------------------------------------------------------------------------------------

function edge(link) {
  const [thin, thick] = data.widths, width = thin + (thick - thin) * Math.max(link.te ?? 0, 0) / strongest;
  const shaft = make('path', { class: 'shaft', 'stroke-width': width });
  if (!isSure(link)) shaft.setAttribute('stroke-dasharray', `${0.2 + 1.4 * width} ${0.12 + 0.7 * width}`);
  const head = make('path', { class: 'head', 'stroke-width': 0.07 }), hit = make('path', { class: 'hit' });
  const key = link.key;
  const group = make('g', { class: 'edge', 'data-link': key, role: 'button', tabindex: found.length > 60 ? -1 : 0, 'aria-label': `${arrowName(link)}: what stands behind it` }, shaft, head, hit);
  const made = { link, key, width, shaft, head, hit, group, from: nodes[link.source], to: nodes[link.target] };
  if (words.has(key)) made.tag = tagged(...words.get(key));
  made.from.edges.push(made);
  made.to.edges.push(made);
  pointed(hit, (event) => { lightLink(link); showTip(linkTip(link), event.clientX, event.clientY); }, calm);
  group.addEventListener('focus', () => lightLink(link));
  group.addEventListener('blur', calm);
  opens(group, link);
  return made;
}

function tagged(text, width, height) {
  return make('g', { class: 'tag' }, make('rect', { x: -width / 2, y: -height / 2, width, height, rx: height / 3 }), make('text', { y: 0.18 }, text));
}

function place({ link, key, width, shaft, head, hit, tag, from, to }) {
  const { path, tag: spot } = routes.get(key), way = sampled(path), walked = [0];
  for (let k = 1; k < way.length; k++) walked.push(walked[k - 1] + distance(way[k - 1], way[k]));
  const total = walked.at(-1), long = Math.min(0.3 + 1.9 * width, 0.6 * total), wide = 0.13 + 0.95 * width;
  const tip = way.at(-1), base = at(way, walked, total - long), inner = at(way, walked, total - 0.72 * long), size = distance(base, tip) || 1;
  const [ux, uy] = [(tip[0] - base[0]) / size, (tip[1] - base[1]) / size];
  shaft.setAttribute('d', drawn([...way.filter((_, k) => walked[k] < total - 0.72 * long), inner]));
  hit.setAttribute('d', drawn(way));
  head.setAttribute('d', `${drawn([tip, [base[0] - wide * uy, base[1] + wide * ux], inner, [base[0] + wide * uy, base[1] - wide * ux]])}Z`);
  if (tag) tag.setAttribute('transform', `translate(${spot})`);
}

// --- new ways for arrows where a node was moved ---------------------------------------------------------------------

const BENDS = [0, 0.12, -0.12, 0.22, -0.22, 0.35, -0.35, 0.5, -0.5, 0.7, -0.7, 0.95, -0.95], GAP = 0.1;

// How far a place lies outside a node's box, which may be turned; negative inside.
function outside([x, y], node, i = nodes.indexOf(node)) {
  const turn = -layout.turn[i] * Math.PI / 180, [dx, dy] = [x - node.x, y - node.y];
  const [u, v] = [dx * Math.cos(turn) - dy * Math.sin(turn), dx * Math.sin(turn) + dy * Math.cos(turn)];
  const [a, b] = [Math.abs(u) - layout.width[i] / 2 + 0.5, Math.abs(v) - layout.height[i] / 2 + 0.5];
  return Math.hypot(Math.max(a, 0), Math.max(b, 0)) + Math.min(Math.max(a, b), 0) - 0.5;
}

function curveTo(a, b, bend) {
  const over = [(a[0] + b[0]) / 2 + bend * (b[1] - a[1]), (a[1] + b[1]) / 2 - bend * (b[0] - a[0])];
  return [a, ...[a, b].map((end) => end.map((value, k) => (value + 2 * over[k]) / 3)), b];
}

// The gentlest curve from rim to rim that runs through no other box; of two opposite arrows each bends to its own side.
function rerouted(e) {
  const both = e.to.edges.some((other) => other.from === e.to && other.to === e.from);
  const [start, end] = [e.from, e.to].map((node) => [node.x, node.y]), others = nodes.filter((node) => node !== e.from && node !== e.to && !node.group.classList.contains('away'));
  let best = null;
  for (const bend of BENDS) {
    if (both && bend <= 0) continue;
    const whole = sampled(curveTo(start, end, bend), 48), outer = whole.filter((p) => outside(p, e.from) > GAP && outside(p, e.to) > GAP);
    if (outer.length < 2) continue;
    const met = others.filter((node) => outer.some((p) => outside(p, node) < 0.15)).length;
    if (!best || met < best.met) best = { met, outer };
    if (!met) break;
  }
  if (best?.met && others.length <= MOST_BOXES) {
    const outer = detour(start, end, others).filter((p) => outside(p, e.from) > GAP && outside(p, e.to) > GAP);
    if (outer.length > 1) best = { outer };
  }
  if (!best) best = { outer: [start, end] }; // the boxes touch: nothing of the arrow can be seen between them
  const path = through(best.outer.length > 40 ? best.outer.filter((_, k) => k % 3 === 0 || k === best.outer.length - 1) : best.outer), middle = best.outer[Math.floor(best.outer.length / 2)];
  const near = [...best.outer].sort((a, b) => distance(a, middle) - distance(b, middle));
  return { path, tag: near.find((p) => nodes.every((node) => outside(p, node) > 0.45)) ?? middle };
}

// The shortest way around boxes, by their corners (A*), with its bends rounded; empty where there is none.
const MOST_BOXES = 60, ROUND = 0.42;

function detour(start, end, others) {
  const boxes = others.map((node) => { const i = nodes.indexOf(node); return { x: node.x, y: node.y, w: layout.width[i] / 2, h: layout.height[i] / 2 }; });
  const clear = (a, b) => boxes.every((box) => !meets(a, b, box, 0.16));
  const free = ([x, y]) => boxes.every((box) => Math.abs(x - box.x) > box.w + 0.3 || Math.abs(y - box.y) > box.h + 0.3);
  const stops = [start, end, ...boxes.flatMap(({ x, y, w, h }) => [-1, 1].flatMap((a) => [-1, 1].map((b) => [x + a * (w + ROUND), y + b * (h + ROUND)]))).filter(free)];
  const cost = stops.map(() => Infinity), from = stops.map(() => -1), left = new Set(stops.keys());
  cost[0] = 0;
  while (left.size) {
    let at = -1;
    for (const k of left) if (at < 0 || cost[k] + distance(stops[k], end) < cost[at] + distance(stops[at], end)) at = k;
    if (at === 1 || cost[at] === Infinity) break;
    left.delete(at);
    for (const k of left) {
      const way = cost[at] + distance(stops[at], stops[k]) + 0.3; // few bends are better than many
      if (way < cost[k] && clear(stops[at], stops[k])) [cost[k], from[k]] = [way, at];
    }
  }
  if (from[1] < 0) return [];
  const knots = [end];
  for (let k = from[1]; k >= 0; k = from[k]) knots.unshift(stops[k]);
  const towards = (a, b, far) => { const t = Math.min(far / (distance(a, b) || 1), 0.5); return [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])]; };
  const bends = knots.flatMap((p, k) => (k === 0 || k === knots.length - 1 ? [p] : [towards(p, knots[k - 1], 0.5), ...[0.25, 0.5, 0.75].map((t) => { const [a, b] = [towards(p, knots[k - 1], 0.5), towards(p, knots[k + 1], 0.5)]; return [0, 1].map((x) => (1 - t) ** 2 * a[x] + 2 * t * (1 - t) * p[x] + t * t * b[x]); }), towards(p, knots[k + 1], 0.5)]));
  return bends.flatMap((p, k) => (k ? Array.from({ length: 12 }, (_, n) => [0, 1].map((x) => bends[k - 1][x] + (p[x] - bends[k - 1][x]) * (n + 1) / 12)) : [p]));
}

// Whether a straight line runs through a box, or nearer to it than `near`.
function meets(a, b, { x, y, w, h }, near) {
  let [enter, leave] = [0, 1];
  for (const [p, q, middle, half] of [[a[0], b[0], x, w + near], [a[1], b[1], y, h + near]]) {
    if (Math.abs(q - p) < 1e-9) { if (Math.abs(p - middle) >= half) return false; continue; }
    const [one, two] = [(middle - half - p) / (q - p), (middle + half - p) / (q - p)].sort((m, n) => m - n);
    [enter, leave] = [Math.max(enter, one), Math.min(leave, two)];
  }
  return enter < leave;
}

// A broken line as a chain of cubic curves, as routes are.
function through(points) {
  return points.flatMap((p, k) => (k ? [1, 2, 3].map((part) => p.map((value, x) => points[k - 1][x] + (value - points[k - 1][x]) * part / 3)) : [p]));
}

// Points along a chain of cubic Bézier curves; a straight piece needs only its ends.
function sampled(path, most = 16) {
  const way = [path[0]];
  for (let k = 0; k + 3 < path.length; k += 3) {
    const [a, b, c, d] = path.slice(k, k + 4), steps = most === 16 && straight(a, b, d) && straight(a, c, d) ? 1 : most;
    for (let s = 1; s <= steps; s++) {
      const t = s / steps, u = 1 - t;
      way.push([0, 1].map((x) => u ** 3 * a[x] + 3 * t * u * u * b[x] + 3 * t * t * u * c[x] + t ** 3 * d[x]));
    }
  }
  return way;
}

function straight(a, b, c) { return Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) < 1e-3; }

function at(way, walked, along) {
  const k = Math.max(1, walked.findIndex((value) => value >= along));
  const share = (along - walked[k - 1]) / (walked[k] - walked[k - 1] || 1);
  return [0, 1].map((x) => way[k - 1][x] + share * (way[k][x] - way[k - 1][x]));
}

function drawn(points) { return `M${points.map((point) => point.map((value) => value.toFixed(3))).join('L')}`; }

function distance(a, b) { return Math.hypot(a[0] - b[0], a[1] - b[1]); }

// --- nodes ----------------------------------------------------------------------------------------------------------

function pill(node) {
  node.group = make('g', { class: 'node', tabindex: 0, role: 'button' });
  const { into, out } = neighbours(node);
  node.group.setAttribute('aria-label', `${node.name}. Driven by ${into.join(', ') || 'none'}. Drives ${out.join(', ') || 'none'}.`);
  pointed(node.group, (event) => about(node, event), calm);
  node.group.addEventListener('focus', () => lightAround(node));
  node.group.addEventListener('blur', calm);
  node.group.addEventListener('pointerdown', (event) => drag(node, event));
  node.group.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: [-0.5, 0], ArrowRight: [0.5, 0], ArrowUp: [0, -0.5], ArrowDown: [0, 0.5] }[event.key];
    if (!step) return;
    event.preventDefault();
    move(node, node.x + step[0], node.y + step[1]);
  });
  return node.group;
}

// The box and its lines as the layout has them, then text that is wider in this browser's font is made to fit.
function fillBox(node, i) {
  const [width, height, lines] = [layout.width[i], layout.height[i], layout.lines[i]];
  const texts = lines.map((line, k) => make('text', { y: 0.19 + 0.62 * (k - (lines.length - 1) / 2) }, line));
  node.group.replaceChildren(make('rect', { x: -width / 2, y: -height / 2, width, height, rx: 0.5 }), ...texts);
  return () => {
    const taken = Math.max(...texts.map((text) => text.getComputedTextLength())), room = width - 0.5;
    return () => { if (taken > room) for (const text of texts) text.style.fontSize = `${0.54 * room / taken}px`; };
  };
}

function neighbours(node) {
  return {
    into: node.edges.filter((e) => e.to === node).map((e) => e.from.name),
    out: node.edges.filter((e) => e.from === node).map((e) => e.to.name),
  };
}

function lightAround(node) {
  const edges = node.edges.filter((e) => passes(e.link));
  light(edges, [node, ...edges.flatMap((e) => [e.from, e.to])]);
  for (const e of edges) {
    if (e.to === node) e.from.group.classList.add('parent'); else e.to.group.classList.add('child');
  }
}

function about(node, event) {
  const { into, out } = neighbours(node);
  lightAround(node);
  showTip([make('b', {}, node.name), rows([['driven by', into.join(', ') || 'none'], ['drives', out.join(', ') || 'none']])], event.clientX, event.clientY);
}

function light(edges, lit) {
  calm();
  svg.classList.add('focused');
  edges.forEach((e) => { e.group.classList.add('lit'); e.tag?.classList.add('lit'); });
  lit.forEach((node) => node.group.classList.add('lit'));
}

function lightLink(link) {
  const arrow = arrows.get(link);
  if (arrow) light([arrow], [arrow.from, arrow.to]); else calm();
  document.querySelectorAll(`tr[data-link="${link.key}"], .step[data-link="${link.key}"]`).forEach((element) => element.classList.add('lit'));
}

function calm() {
  hideTip();
  svg.classList.remove('focused');
  document.querySelectorAll('.lit').forEach((element) => element.classList.remove('lit', 'parent', 'child'));
}

function settle(node, i = nodes.indexOf(node)) { node.group.setAttribute('transform', `translate(${node.x} ${node.y}) rotate(${layout.turn[i]})`); }

// Arrows of moved nodes find a new way; others keep theirs unless a moved node stands in it.
function move(node, x, y) {
  touched = true;
  node.moved = true;
  node.x = x;
  node.y = y;
  settle(node);
  const moved = nodes.filter((one) => one.moved);
  for (const e of arrows.values()) {
    const usual = homes.get(e.key), own = e.from.moved || e.to.moved;
    const met = own || moved.some((one) => sampled(usual.path, 12).some((p) => outside(p, one) < 0.1));
    if (!met && routes.get(e.key) === usual) continue;
    routes.set(e.key, met ? rerouted(e) : usual);
    place(e);
  }
}

function drag(node, event) {
  event.stopPropagation();
  if (event.button) return;
  const start = point(event), [x, y] = [node.x, node.y];
  followPointer(node.group, event, (now) => { hideTip(); move(node, x + now.x - start.x, y + now.y - start.y); },
    () => { if (touched && !svg.classList.contains('zoomed')) fit(); });
}

// --- the view ---------------------------------------------------------------------------------------------------------

// The layout, left to right or top to bottom, that shows the nodes larger; once a node was moved it stays.
function choose(across) {
  if (touched) return;
  const [wide, tall] = data.layouts.map((choice) => {
    const reach = choice.width.map((width, i) => (choice.turn[i] ? width : width / 2));
    const left = Math.min(...choice.x.map((x, i) => x - reach[i])), right = Math.max(...choice.x.map((x, i) => x + reach[i]));
    return Math.min(across / (right - left + 2), tallest(across) / (spread(choice.y) + 2.6), 44);
  });
  const chosen = data.layouts[tall > 1.25 * wide ? 1 : 0];
  if (chosen === layout) return;
  layout = chosen;
  const spots = new Map(layout.tags.map(([i, j, x, y]) => [`${i} ${j}`, [x, y]]));
  routes = new Map(layout.paths.map(([i, j, flat]) => {
    const path = [];
    for (let k = 0; k < flat.length; k += 2) path.push([flat[k], flat[k + 1]]);
    return [`${i} ${j}`, { path, tag: spots.get(`${i} ${j}`) }];
  }));
  homes = new Map(routes);
  const fits = nodes.map((node, i) => {
    [node.x, node.y, node.moved] = [layout.x[i], layout.y[i], false];
    settle(node, i);
    return fillBox(node, i);
  });
  new Set(nodes.flatMap((node) => node.edges)).forEach(place);
  requestAnimationFrame(() => fits.map((measure) => measure()).forEach((shrink) => shrink()));
}

function spread(values) { return Math.max(...values) - Math.min(...values); }

function tallest(across) {
  const room = document.body.classList.contains('inline') ? Math.max(innerHeight - 200, 240) : 0.9 * Math.max(innerHeight, 500);
  return Math.min(room, 1.25 * across);
}

function fit() {
  const across = byId('graph').clientWidth || 800;
  choose(across);
  const box = extent(), pad = 0.8;
  const width = Math.max(box.width + 2 * pad, across / 44), height = box.height + 2 * pad;
  svg.style.height = `${Math.min(Math.max(height * across / width, 180), tallest(across))}px`;
  home = { x: box.x + box.width / 2 - width / 2, y: box.y - pad, width, height };
  frame = { ...home };
  show();
}

// The room that nodes, arrows and their words take; a node that is set aside takes none.
function extent() {
  const points = [];
  nodes.forEach((node, i) => {
    if (node.group.classList.contains('away')) return;
    const turn = layout.turn[i] * Math.PI / 180, [a, b] = [layout.width[i] / 2, layout.height[i] / 2];
    const [x, y] = [[a * Math.cos(turn), b * Math.sin(turn)], [a * Math.sin(turn), b * Math.cos(turn)]].map(([p, q]) => Math.abs(p) + Math.abs(q));
    points.push([node.x - x, node.y - y], [node.x + x, node.y + y]);
  });
  for (const { path, tag } of routes.values()) points.push(...sampled(path), ...(tag ? [[tag[0] - 0.6, tag[1] - 0.3], [tag[0] + 0.6, tag[1] + 0.3]] : []));
  const [left, top, right, bottom] = [-largest(points.map((p) => -p[0]), -Infinity), -largest(points.map((p) => -p[1]), -Infinity), largest(points.map((p) => p[0]), -Infinity), largest(points.map((p) => p[1]), -Infinity)];
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function show() {
  svg.setAttribute('viewBox', [frame.x, frame.y, frame.width, frame.height].join(' '));
  svg.classList.toggle('zoomed', frame.width < 0.99 * home.width);
}

function zoom(factor, event) {
  factor = Math.min(Math.max(frame.width * factor, home.width / 12), home.width * 2) / frame.width;
  const centre = event ? point(event) : { x: frame.x + frame.width / 2, y: frame.y + frame.height / 2 };
  frame = { x: centre.x + (frame.x - centre.x) * factor, y: centre.y + (frame.y - centre.y) * factor, width: frame.width * factor, height: frame.height * factor };
  show();
}

function pan(event) {
  if (event.button || event.target.closest('.edge')) return;
  const start = point(event);
  svg.classList.add('panning');
  followPointer(svg, event, (now) => { calm(); frame.x += start.x - now.x; frame.y += start.y - now.y; show(); }, () => svg.classList.remove('panning'));
}

function point(event) { return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()); }

function followPointer(element, event, moved, done = () => {}) {
  element.setPointerCapture(event.pointerId);
  const onMove = (now) => moved(point(now));
  const onEnd = () => {
    element.removeEventListener('pointermove', onMove);
    for (const end of ['pointerup', 'pointercancel']) element.removeEventListener(end, onEnd);
    done();
  };
  element.addEventListener('pointermove', onMove);
  for (const end of ['pointerup', 'pointercancel']) element.addEventListener(end, onEnd);
}
