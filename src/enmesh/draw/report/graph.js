// The network: boxes and arrows in units of the height of a line's box. Nodes are dragged, the view zoomed and panned.

const nodes = data.names.map((name) => ({ name, x: 0, y: 0, edges: [] }));
const words = new Map(data.tags.map(([i, j, ...tag]) => [`${i} ${j}`, tag]));
let svg, home, frame, layout, routes, homes, touched = false;
const arrows = new Map(); // link -> its arrow

function startGraph() {
  svg = make('svg', { role: 'group', 'aria-label': `Network of ${nodes.length} nodes and ${found.length} links` });
  byId('graph').append(svg);
  byId('tag-key').hidden = !data.tags.some(([, , text]) => text !== '∿') && !data.usual;
  byId('keys').hidden = [...byId('keys').children].every((key) => key.hidden);
  byId('usual-lag').textContent = data.usual ? `(${data.usual} where none is written)` : '';
  svg.classList.toggle('many', found.length > 120); // then lags are shown with the links that are pointed at
  const edges = [...found].sort((a, b) => (b.te ?? 0) - (a.te ?? 0)).map(edge);
  for (const made of edges) arrows.set(made.link, made);
  const halos = edges.filter((e) => e.halo).map((e) => e.halo);
  if (data.background) svg.append(backdrop(data.background));
  svg.append(...halos, ...ghosts.map((ghost) => ghost.group), ...edges.map((e) => e.group), ...nodes.map(pill), ...edges.filter((e) => e.tag).map((e) => e.tag));
  fit();
  addEventListener('resize', fit);
  follow(() => {
    edges.forEach((e) => {
      const off = !passes(e.link);
      for (const part of [e.group, e.tag, e.halo]) part?.classList.toggle('off', off);
      const opacity = view.fade ? data.palest + (1 - data.palest) * (e.link.stability ?? 1) : 1;
      e.shaft.style.opacity = e.head.style.opacity = opacity;
      e.shaft.style.stroke = e.head.style.stroke = colour(e.link);
      e.head.style.fill = e.link.sign === 'down' ? 'var(--raised)' : colour(e.link);
    });
    ghosts.forEach((ghost) => { ghost.group.classList.toggle('as-links', view.feedback); ghost.group.classList.toggle('off', view.name !== '' && !isNamed(ghost.source) && !isNamed(ghost.target)); });
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
  byId('whole').addEventListener('click', () => { touched = false; layout = null; fit(); keep(); });
}

// --- arrows ---------------------------------------------------------------------------------------------------------

function edge(link) {
  const width = widthOf(link.te), high = link.behind?.high ?? null;
  const shaft = make('path', { class: 'shaft', 'stroke-width': width });
  if (!isSure(link)) shaft.setAttribute('stroke-dasharray', `${0.2 + 1.4 * width} ${0.12 + 0.7 * width}`);
  const head = make('path', { class: 'head', 'stroke-width': 0.07 }), hit = make('path', { class: 'hit' });
  const key = link.key;
  const group = make('g', { class: 'edge', 'data-link': key, role: 'button', tabindex: found.length > 60 ? -1 : 0, 'aria-label': `${arrowName(link)}, ${number(link.te)} ${NATS}, ${isSure(link) ? 'solid' : 'doubtful'}: show the evidence` }, shaft, head, hit);
  const made = { link, key, width, shaft, head, hit, group, from: nodes[link.source], to: nodes[link.target] };
  if (data.halos && high !== null) made.halo = make('path', { class: 'halo', 'stroke-width': width + widthOf(Math.min(high, 2 * strongest)) - widthOf(link.behind.low) });
  if (words.has(key)) made.tag = tagged(...words.get(key));
  made.from.edges.push(made);
  made.to.edges.push(made);
  pointed(hit, (event) => { lightLink(link); showTip(linkTip(link), event.clientX, event.clientY); }, calm);
  group.addEventListener('focus', () => lightLink(link));
  group.addEventListener('blur', calm);
  opens(group, link);
  return made;
}

// Width follows the transfer entropy; the band around an arrow is as wide as its interval, at most twice the widest.
function widthOf(te) {
  const [thin, thick] = data.widths;
  return thin + (thick - thin) * Math.max(te ?? 0, 0) / strongest;
}

// Links that were left out because they would close a loop: dotted, with an open head.
const ghosts = data.removed.map(([source, target, te, p, q, lags]) => {
  const ghost = { source, target, shaft: make('path', { class: 'shaft' }), head: make('path', { class: 'head' }), hit: make('path', { class: 'hit' }) };
  ghost.group = make('g', { class: 'ghost', role: 'img', 'aria-label': `${data.names[source]} to ${data.names[target]}: left out, it would close a loop` }, ghost.shaft, ghost.head, ghost.hit);
  const numbers = [['TE', `${number(te, 4)} ${NATS}`], ['p', number(p)], ['q', number(q)], ['lag', lags.join(', ') || '–'], ['left out', 'it would close a loop']];
  pointed(ghost.hit, (event) => showTip([make('b', {}, `${data.names[source]} → ${data.names[target]}`), rows(numbers)], event.clientX, event.clientY));
  return ghost;
});

function placeGhost({ source, target, shaft, head, hit }) {
  const from = nodes[source], to = nodes[target], way = sampled(rerouted({ from, to, bends: GHOST_BENDS }).path), walked = [0];
  for (let k = 1; k < way.length; k++) walked.push(walked[k - 1] + distance(way[k - 1], way[k]));
  const tip = way.at(-1), base = at(way, walked, Math.max(walked.at(-1) - 0.4, 0)), size = distance(base, tip) || 1;
  const [ux, uy] = [(tip[0] - base[0]) / size, (tip[1] - base[1]) / size];
  for (const path of [shaft, hit]) path.setAttribute('d', drawn(way));
  head.setAttribute('d', drawn([[base[0] - 0.2 * uy, base[1] + 0.2 * ux], tip, [base[0] + 0.2 * uy, base[1] - 0.2 * ux]]));
}

// A picture behind the nodes, in the units of the layout of places.
function backdrop({ address, x, y, width, height }) {
  const picture = make('image', { class: 'backdrop', href: address, x, y, width, height, preserveAspectRatio: 'none' });
  return picture;
}

function tagged(text, width, height) {
  const curved = text.endsWith('∿'), lags = text.replace(/ ?∿$/, ''), aside = curved && lags ? 0.28 : 0;
  const said = [...(lags ? [make('text', { x: -aside, y: 0.18 }, lags)] : []), ...(curved ? [make('text', { class: 'wave', x: lags ? width / 2 - 0.36 : 0, y: 0.2 }, '∿')] : [])];
  return make('g', { class: 'tag' }, make('rect', { x: -width / 2, y: -height / 2, width, height, rx: height / 3 }), ...said);
}

function place({ key, width, shaft, head, hit, tag, halo }) {
  const { path, tag: spot } = routes.get(key), way = sampled(path), walked = [0];
  for (let k = 1; k < way.length; k++) walked.push(walked[k - 1] + distance(way[k - 1], way[k]));
  const total = walked.at(-1), long = Math.min(0.3 + 1.9 * width, 0.6 * total), wide = 0.13 + 0.95 * width;
  const tip = way.at(-1), base = at(way, walked, total - long), inner = at(way, walked, total - 0.72 * long), size = distance(base, tip) || 1;
  const [ux, uy] = [(tip[0] - base[0]) / size, (tip[1] - base[1]) / size];
  shaft.setAttribute('d', drawn([...way.filter((_, k) => walked[k] < total - 0.72 * long), inner]));
  hit.setAttribute('d', drawn(way));
  head.setAttribute('d', `${drawn([tip, [base[0] - wide * uy, base[1] + wide * ux], inner, [base[0] + wide * uy, base[1] - wide * ux]])}Z`);
  if (tag) tag.setAttribute('transform', `translate(${spot})`);
  halo?.setAttribute('d', shaft.getAttribute('d'));
}

// --- nodes ----------------------------------------------------------------------------------------------------------

function pill(node) {
  node.group = make('g', { class: 'node', tabindex: 0, role: 'button' });
  const { into, out } = neighbours(node);
  const warned = data.badges[nodes.indexOf(node)] ? ' A caution names it.' : '';
  node.group.setAttribute('aria-label', `${node.name}. Driven by ${into.join(', ') || 'none'}. Drives ${out.join(', ') || 'none'}.${warned}`);
  pointed(node.group, (event) => about(node, event), calm);
  node.group.addEventListener('focus', () => lightAround(node));
  node.group.addEventListener('blur', calm);
  node.group.addEventListener('pointerdown', (event) => drag(node, event));
  node.group.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: [-0.5, 0], ArrowRight: [0.5, 0], ArrowUp: [0, -0.5], ArrowDown: [0, 0.5] }[event.key];
    if (!step) return;
    event.preventDefault();
    move(node, node.x + step[0], node.y + step[1]);
    keep();
  });
  return node.group;
}

// The box and its lines as the layout has them, then text that is wider in this browser's font is made to fit.
function fillBox(node, i) {
  const [width, height, lines] = [layout.width[i], layout.height[i], layout.lines[i]];
  const texts = lines.map((line, k) => make('text', { y: 0.19 + 0.62 * (k - (lines.length - 1) / 2) }, line));
  node.group.replaceChildren(make('rect', { x: -width / 2, y: -height / 2, width, height, rx: 0.5 }), ...texts);
  const cautions = data.badges[i];
  if (cautions) node.group.append(make('g', { class: 'mark', transform: `translate(${width / 2 - 0.12} ${-height / 2 + 0.06})` }, make('circle', { r: 0.3 }), make('path', { d: 'M0 -0.16V0.04M0 0.15V0.16' })));
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
  const cautions = data.badges[nodes.indexOf(node)] ?? [];
  showTip([make('b', {}, node.name), rows([['driven by', into.join(', ') || 'none'], ['drives', out.join(', ') || 'none']]), ...cautions.map((said) => make('p', { class: 'warned' }, said))], event.clientX, event.clientY);
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
  ghosts.forEach(placeGhost);
}

function drag(node, event) {
  event.stopPropagation();
  if (event.button) return;
  const start = point(event), [x, y] = [node.x, node.y];
  followPointer(node.group, event, (now) => { hideTip(); move(node, x + now.x - start.x, y + now.y - start.y); },
    () => { if (touched && !svg.classList.contains('zoomed')) fit(); keep(); });
}
