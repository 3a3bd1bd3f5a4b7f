// The network: pills and arrows in units of a pill's height. Nodes are dragged, the view is zoomed and panned.

const nodes = data.names.map((name, i) => ({ name, label: data.labels[i], x: 0, y: 0, width: data.width[i], edges: [] }));
const bends = new Map();
let svg, home, frame, layout, touched = false;

function startGraph() {
  svg = make('svg', { role: 'group', 'aria-label': `Network of ${nodes.length} nodes and ${found.length} links` });
  byId('graph').append(svg);
  const edges = [...found].sort((a, b) => (b.te ?? 0) - (a.te ?? 0)).map(edge);
  svg.append(...edges.map((e) => e.group), ...nodes.map(pill));
  fit();
  addEventListener('resize', fit);
  follow(() => edges.forEach((e) => e.group.classList.toggle('off', !passes(e.link))));
  addEventListener('pointerdown', calm, { capture: true });
  svg.addEventListener('pointerdown', pan);
  svg.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.004), event);
  }, { passive: false });
  byId('closer').addEventListener('click', () => zoom(1 / 1.3));
  byId('farther').addEventListener('click', () => zoom(1.3));
  byId('whole').addEventListener('click', () => { frame = { ...home }; show(); });
}

// --- arrows ---------------------------------------------------------------------------------------------------------

function edge(link) {
  const width = 0.055 + 0.2 * Math.max(link.te ?? 0, 0) / strongest;
  const shaft = make('path', { class: 'shaft', 'stroke-width': width });
  if (!isSure(link)) shaft.setAttribute('stroke-dasharray', `${0.2 + 1.4 * width} ${0.12 + 0.7 * width}`);
  const head = make('path', {}), hit = make('path', { class: 'hit' });
  shaft.style.stroke = colour(link.q);
  head.style.fill = colour(link.q);
  const group = make('g', { class: 'edge', 'data-link': `${link.source} ${link.target}` }, shaft, head, hit);
  const made = { link, width, shaft, head, hit, group, from: nodes[link.source], to: nodes[link.target] };
  made.from.edges.push(made);
  made.to.edges.push(made);
  pointed(hit, (event) => { light([made], [made.from, made.to]); showTip(linkTip(link), event.clientX, event.clientY); }, calm);
  return made;
}

function place({ link, width, shaft, head, hit, from, to }) {
  const bend = bends.get(`${link.source} ${link.target}`) ?? 0;
  const dx = to.x - from.x, dy = to.y - from.y;
  const middle = [(from.x + to.x) / 2 - bend * dy, (from.y + to.y) / 2 + bend * dx];
  const curve = [[from.x, from.y], middle, [to.x, to.y]];
  const leave = border(curve, 0, from), arrive = border(curve, 1, to);
  const tip = at(curve, arrive), long = 0.26 + 1.9 * width, wide = 0.14 + 1.05 * width;
  let neck = arrive;
  while (neck > leave && distance(at(curve, neck), tip) < long) neck -= 0.01;
  const base = at(curve, neck), size = distance(base, tip) || 1;
  const [ux, uy] = [(tip[0] - base[0]) / size, (tip[1] - base[1]) / size];
  const inner = at(curve, Math.min(neck + 0.3 * (arrive - neck), 1));
  shaft.setAttribute('d', part(curve, leave, Math.max(neck + 0.3 * (arrive - neck), leave)));
  hit.setAttribute('d', part(curve, leave, arrive));
  head.setAttribute('d', `M${tip} L${[base[0] - wide * uy, base[1] + wide * ux]} L${inner} L${[base[0] + wide * uy, base[1] - wide * ux]}Z`);
}

function at([a, b, c], t) {
  return [0, 1].map((k) => (1 - t) ** 2 * a[k] + 2 * t * (1 - t) * b[k] + t * t * c[k]);
}

function part([a, b, c], from, to) {
  const blend = [0, 1].map((k) => (1 - from) * (1 - to) * a[k] + (from * (1 - to) + to * (1 - from)) * b[k] + from * to * c[k]);
  return `M${at([a, b, c], from)} Q${blend} ${at([a, b, c], to)}`;
}

function distance(a, b) { return Math.hypot(a[0] - b[0], a[1] - b[1]); }

// Where the curve crosses the pill at its end (0 or 1), by bisection; a small gap keeps arrow and pill apart.
function border(curve, end, node) {
  const inside = ([x, y]) => {
    const reach = Math.max(node.width / 2 - 0.5, 0);
    return Math.hypot(Math.max(Math.abs(x - node.x) - reach, 0), y - node.y) < 0.56;
  };
  let [within, without] = [end, 0.5];
  for (let step = 0; step < 24; step++) {
    const t = (within + without) / 2;
    if (inside(at(curve, t))) within = t; else without = t;
  }
  return without;
}

// --- nodes ----------------------------------------------------------------------------------------------------------

function pill(node) {
  const text = make('text', { y: 0.19 }, node.label);
  node.group = make('g', { class: 'node', tabindex: 0, role: 'button' },
    make('rect', { x: -node.width / 2, y: -0.5, width: node.width, height: 1, rx: 0.5 }), text);
  const { into, out } = neighbours(node);
  node.group.setAttribute('aria-label', `${node.name}. Driven by ${into.join(', ') || 'none'}. Drives ${out.join(', ') || 'none'}.`);
  requestAnimationFrame(() => {
    const room = node.width - 0.5, taken = text.getComputedTextLength();
    if (taken > room) text.style.fontSize = `${0.54 * room / taken}px`;
  });
  pointed(node.group, (event) => about(node, event), calm);
  node.group.addEventListener('focus', () => light(node.edges, around(node)));
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

function neighbours(node) {
  return {
    into: node.edges.filter((e) => e.to === node).map((e) => e.from.name),
    out: node.edges.filter((e) => e.from === node).map((e) => e.to.name),
  };
}

function around(node) { return [node, ...node.edges.flatMap((e) => [e.from, e.to])]; }

function about(node, event) {
  const { into, out } = neighbours(node);
  light(node.edges, around(node));
  showTip([make('b', {}, node.name), rows([['driven by', into.join(', ') || 'none'], ['drives', out.join(', ') || 'none']])], event.clientX, event.clientY);
}

function light(edges, lit) {
  calm();
  svg.classList.add('focused');
  edges.forEach((e) => e.group.classList.add('lit'));
  lit.forEach((node) => node.group.classList.add('lit'));
}

function calm() {
  hideTip();
  svg.classList.remove('focused');
  svg.querySelectorAll('.lit').forEach((element) => element.classList.remove('lit'));
}

function settle(node) { node.group.setAttribute('transform', `translate(${node.x} ${node.y})`); }

function move(node, x, y) {
  touched = true;
  node.x = x;
  node.y = y;
  settle(node);
  node.edges.forEach(place);
}

function drag(node, event) {
  event.stopPropagation();
  const start = point(event), [x, y] = [node.x, node.y];
  followPointer(node.group, event, (now) => { hideTip(); move(node, x + now.x - start.x, y + now.y - start.y); });
}

// --- the view ---------------------------------------------------------------------------------------------------------

// The layout, left to right or top to bottom, that shows the nodes larger; once a node was moved it stays.
function choose(across) {
  if (touched) return;
  const [wide, tall] = data.layouts.map((choice) => {
    const reach = choice.x.map((x, i) => [x - data.width[i] / 2, x + data.width[i] / 2]).flat();
    return Math.min(across / (spread(reach) + 2), tallest(across) / (spread(choice.y) + 2.6), 44);
  });
  const chosen = data.layouts[tall > 1.25 * wide ? 1 : 0];
  if (chosen === layout) return;
  layout = chosen;
  layout.bends.forEach(([i, j, bend]) => bends.set(`${i} ${j}`, bend));
  nodes.forEach((node, i) => { node.x = layout.x[i]; node.y = layout.y[i]; settle(node); });
  nodes.forEach((node) => node.edges.forEach(place));
}

function spread(values) { return Math.max(...values) - Math.min(...values); }

function tallest(across) { return Math.min(0.9 * Math.max(innerHeight, 500), 1.25 * across); }

function fit() {
  const across = byId('graph').clientWidth || 800;
  choose(across);
  const box = svg.getBBox(), pad = 0.8;
  const width = Math.max(box.width + 2 * pad, across / 44), height = box.height + 2 * pad;
  svg.style.height = `${Math.min(Math.max(height * across / width, 180), tallest(across))}px`;
  home = { x: box.x + box.width / 2 - width / 2, y: box.y - pad, width, height };
  frame = { ...home };
  show();
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
  if (event.button) return;
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
