// The view: which layout, zoom and pan, and the address that keeps them.

const LARGEST = 36; // pixels of a unit: names are no larger than a heading

// The layout, left to right or top to bottom, that shows the nodes larger; once a node was moved it stays.
function choose(across) {
  if (touched) return;
  const sizes = data.layouts.slice(0, 2).map((choice) => {
    const reach = choice.width.map((width, i) => (choice.turn[i] ? width : width / 2));
    const left = Math.min(...choice.x.map((x, i) => x - reach[i])), right = Math.max(...choice.x.map((x, i) => x + reach[i]));
    return Math.min(across / (right - left + 2), tallest(across) / (spread(choice.y) + 2.6), LARGEST);
  });
  const usual = data.layouts[sizes[1] > 1.25 * sizes[0] ? 1 : 0];
  const chosen = data.layouts.find((choice) => choice.name === view.layout) ?? usual;
  document.body.classList.toggle('mapped', chosen.name === 'places');
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
  ghosts.forEach(placeGhost);
  requestAnimationFrame(() => fits.map((measure) => measure()).forEach((shrink) => shrink()));
}

function spread(values) { return Math.max(...values) - Math.min(...values); }

// Beside the answer the network takes the height that is left on the screen under the heading.
function tallest(across) {
  if (document.body.classList.contains('inline')) return Math.min(Math.max(innerHeight - 250, 240), 1.25 * across);
  if (!matchMedia('screen and (min-width: 1000px)').matches) return Math.min(0.9 * Math.max(innerHeight, 500), 1.25 * across);
  const above = byId('graph').getBoundingClientRect().top + scrollY, key = document.querySelector('#network figcaption').offsetHeight;
  return Math.min(Math.max(innerHeight - above - key - 14, 300), 1.25 * across);
}

function fit() {
  const across = byId('graph').clientWidth || 800;
  choose(across);
  const box = extent(), pad = 0.8;
  const width = Math.max(box.width + 2 * pad, across / LARGEST), height = box.height + 2 * pad;
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
  if (layout.name === 'places' && data.background) { const { x, y, width, height } = data.background; points.push([x, y], [x + width, y + height]); }
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

// --- the address ------------------------------------------------------------------------------------------------------

const KEPT = ['layout', 'colour', 'q', 'te', 'name', 'feedback'];
const USUAL = { ...view };
let ready = false;

function startLayouts() {
  const choice = byId('layout'), labels = { auto: 'by layers', circle: 'on a circle', places: 'at their places' };
  const names = ['auto', ...data.layouts.map((one) => one.name).filter((name) => name in labels)];
  choice.append(...names.map((name) => make('option', { value: name }, labels[name])));
  byId('layout-label').hidden = names.length < 2;
  if (names.includes('places')) view.layout = USUAL.layout = 'places';
  restoreView();
  choice.value = view.layout;
  choice.addEventListener('change', () => { view.layout = choice.value; touched = false; layout = null; fit(); keep(); });
  ready = true;
  followers.push(keep);
}

// What was chosen stands behind the # of the page's address, so that a link to it shows the same.
function keep() {
  if (!ready || !location.protocol.match(/^(file|https?):$/)) return;
  const said = KEPT.filter((name) => view[name] !== USUAL[name]).map((name) => `${name}=${encodeURIComponent(view[name])}`);
  const moved = nodes.map((node, i) => (node.moved ? `${i}:${node.x.toFixed(1)},${node.y.toFixed(1)}` : '')).filter(Boolean);
  if (moved.length) said.push(`at=${moved.join(';')}`);
  history.replaceState(null, '', said.length ? `#view&${said.join('&')}` : location.hash.startsWith('#view') ? location.pathname + location.search : location.hash || location.href);
}

let waiting = null; // places of nodes, until the network is drawn

function restoreView() {
  if (!location.hash.startsWith('#view&')) return;
  const said = new URLSearchParams(location.hash.slice(6));
  for (const name of KEPT.filter((one) => said.has(one))) {
    const value = said.get(name), usual = USUAL[name];
    view[name] = typeof usual === 'number' ? Number(value) || 0 : typeof usual === 'boolean' ? value === 'true' : value;
  }
  if (!(view.colour in MODES)) view.colour = USUAL.colour;
  byId('colour').value = view.colour;
  byId('name').value = view.name;
  byId('q').value = STOPS.findIndex((stop) => stop >= view.q);
  byId('te').value = Math.round(STEPS * view.te / strongest);
  byId('ghosts').checked = view.feedback;
  waiting = (said.get('at') ?? '').split(';').map((part) => part.split(/[:,]/).map(Number)).filter((part) => part.length === 3 && nodes[part[0]] && part.every(Number.isFinite));
}

function restorePlaces() {
  if (!waiting) return;
  for (const [i, x, y] of waiting) move(nodes[i], x, y);
  if (waiting.length) fit();
  refresh();
}
