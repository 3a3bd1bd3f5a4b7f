// The small pictures: chance, the matrix, recordings and embedding criteria; then everything starts.

function tile(title, below, ...drawn) {
  return make('div', { class: 'tile' }, make('b', { title }, title), ...drawn, make('small', {}, below));
}

// Many tiles make a long page and a slow one: the first are built, the rest on request.
const MOST_TILES = 24;

function tiles(box, items, build, isShown = () => true) {
  const built = new Map(), button = make('button', { type: 'button' });
  let open = items.length <= MOST_TILES + 6;
  box.after(button);
  const update = () => {
    const able = items.filter(isShown), shown = open ? able : able.slice(0, MOST_TILES);
    for (const item of shown) if (!built.has(item)) built.set(item, build(item));
    box.replaceChildren(...shown.map((item) => built.get(item)));
    button.hidden = shown.length === able.length;
    button.textContent = `Show all ${able.length}`;
  };
  button.addEventListener('click', () => { open = true; update(); });
  return update;
}

function startNulls() {
  const able = found.filter((link) => link.hist).sort((a, b) => b.te - a.te), formula = able.filter((link) => link.behind?.null);
  byId('nulls').hidden = !able.length;
  if (formula.length === able.length) { startStrip(able); return; }
  follow(tiles(byId('null-tiles'), able, (link) => tile(arrowName(link), `TE ${number(link.te)}, p ${number(link.p)}, q ${number(link.q)}`, histogram(link, 220, 92)), passes));
}

// Distributions by a formula look alike: a row per link with the 95 % of chance, the measured value and its interval.
const MOST_STRIPS = 60;

function startStrip(able) {
  if (!able.length) return;
  byId('nulls-say').textContent = `The dot is the transfer entropy of a link (${NATS}). The line is its 95 % interval. The grey band shows chance: without the link, 95 % of the values would be below its right end. The band follows from the formula that also gave the p-value.`;
  const shown = able.slice(0, MOST_STRIPS), tall = 24, width = roomOf('null-strip', 760), most_ = width < 500 ? 18 : 38, left = 10 + 7 * Math.min(most_, largest(shown.map((link) => arrowName(link).length)));
  const upper = ([low, high, counts]) => { const total = counts.reduce((a, b) => a + b, 0); let sum = 0; const k = counts.findIndex((count) => (sum += count) >= 0.95 * total); return low + (high - low) * (k + 1) / counts.length; };
  const most = 1.04 * largest(shown.map((link) => Math.max(link.behind?.high ?? 0, link.te ?? 0))), height = shown.length * tall + 26;
  const x = (value) => left + Math.max(value, 0) / most * (width - left - 12);
  const drawing = make('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': 'Each link with its interval, over chance' });
  for (const value of ticks(0, most, width < 500 ? 3 : 6)) drawing.append(make('line', { class: 'rule', x1: x(value), x2: x(value), y1: 0, y2: height - 20 }), make('text', { class: 'tick', x: x(value), y: height - 5, 'text-anchor': 'middle' }, number(value)));
  const lines = shown.map((link, k) => {
    const y = k * tall + tall / 2, group = make('g', { class: 'strip', 'data-link': link.key }), name = arrowName(link);
    group.append(make('text', { class: 'name', x: left - 8, y: y + 4, 'text-anchor': 'end' }, name.length > most_ ? `${name.slice(0, most_ - 1)}…` : name), make('rect', { class: 'band', x: x(0), y: y - 7, width: Math.max(x(upper(link.hist)) - x(0), 1), height: 14 }));
    if (link.behind?.low !== undefined && link.behind.low !== null) group.append(make('line', { class: 'reach', x1: x(link.behind.low), x2: x(link.behind.high), y1: y, y2: y }));
    group.append(make('circle', { class: isSure(link) ? 'value' : 'value doubtful', cx: x(link.te ?? 0), cy: y, r: 4.5 }));
    opens(group, link);
    return group;
  });
  drawing.append(...lines);
  byId('null-strip').append(drawing);
  if (able.length > shown.length) byId('null-strip').append(make('p', { class: 'quiet' }, `The strongest ${shown.length} of ${able.length} links.`));
  follow(() => lines.forEach((line, k) => line.classList.toggle('off', !passes(shown[k]))));
}

function startMatrix() {
  const count = data.names.length, cell = Math.max(13, Math.min(46, 760 / count)), font = Math.min(13, 0.72 * cell + 2);
  const longest = Math.max(...data.labels.map((label) => label.length));
  const margin = longest * font * 0.62 + 16, upright = longest * font * 0.7 < cell;
  const side = margin + count * cell + 2, rank = [];
  data.order.forEach((node, at) => { rank[node] = at; });
  const drawing = make('svg', { width: side, height: side, viewBox: `0 0 ${side} ${side}`, role: 'img', 'aria-label': 'Transfer entropy from each row to each column' });
  data.labels.forEach((label, i) => {
    const start = margin + rank[i] * cell, middle = start + cell / 2;
    drawing.append(
      make('text', { x: margin - 6, y: middle + 0.35 * font, 'text-anchor': 'end', 'font-size': font }, label, make('title', {}, data.names[i])),
      make('text', { transform: `translate(${middle + (upright ? 0 : 0.35 * font)} ${margin - 6}) rotate(${upright ? 0 : -90})`, 'text-anchor': upright ? 'middle' : 'start', 'font-size': font }, label, make('title', {}, data.names[i])),
      make('rect', { class: 'cell self', x: start, y: start, width: cell, height: cell, rx: 2 }));
  });
  const most = Math.max(...links.map((link) => link.te ?? 0), 1e-12), cells = new Map(), scale = byId('matrix-scale');
  const layer = make('g');
  drawing.append(layer);
  const paint = () => {
    layer.replaceChildren();
    cells.clear();
    for (const link of links) {
      const [box, ...text] = matrixCell(link, margin + rank[link.target] * cell, margin + rank[link.source] * cell, cell, most, count, scale.value);
      cells.set(box, link);
      layer.append(box, ...text);
    }
    byId('matrix-low').textContent = scale.value === 'p' ? 'p = 1' : '0';
    byId('matrix-high').textContent = scale.value === 'p' ? `p ≤ ${CHANCE.at(-1)}` : `${number(most, 2)} ${NATS}`;
  };
  const chances = links.some((link) => link.p !== null);
  scale.parentElement.hidden = !chances;
  scale.value = found.length || !chances ? 'te' : 'p';
  scale.addEventListener('change', paint);
  paint();
  for (const link of found) drawing.append(make('rect', { class: 'frame', x: margin + rank[link.target] * cell + 0.5, y: margin + rank[link.source] * cell + 0.5, width: cell - 1, height: cell - 1, rx: 2 }));
  pointedInside(drawing, (element) => cells.get(element), lightLink);
  drawing.addEventListener('click', (event) => { const link = cells.get(event.target); if (link) openPanel(link, null); });
  byId('matrix-box').append(drawing);
  const known = links.length === count * (count - 1);
  byId('matrix-blank').textContent = known ? '' : data.beyond ? `Blank cells: ${data.beyond} more pairs with larger p-values, which net.pairs in Python has.` : 'Blank cells were not tested.';
}

// On the scale of chance: how many steps of these a p-value is below, so that noise stays pale.
const CHANCE = [0.5, 0.1, 0.05, 0.01, 0.001, 1e-4];

function matrixCell(link, x, y, cell, most, count, scale) {
  const share = scale === 'p' ? CHANCE.filter((step) => link.p !== null && link.p <= step).length / CHANCE.length : Math.max(link.te ?? 0, 0) / most;
  const box = make('rect', { class: 'cell', x, y, width: cell, height: cell, rx: 2, 'data-link': `${link.source} ${link.target}` });
  box.style.fill = link.te === null ? 'var(--line)' : `color-mix(in oklab, var(--heat) ${Math.round(5 + 95 * share)}%, var(--paper))`;
  const chance = scale === 'p';
  if (count > 12 || (chance ? link.p : link.te) === null || (!chance && !link.selected && link.te < Math.max(0.005, 0.02 * most))) return [box]; // a number is written where there is something
  const text = make('text', { x: x + cell / 2, y: y + cell / 2 + 4, 'text-anchor': 'middle', 'font-size': 11, 'pointer-events': 'none' }, chance ? (link.p < 1e-3 ? '<.001' : number(link.p, 2)) : number(link.te, 2));
  if (share > 0.58) text.style.fill = 'var(--paper)';
  return [box, text];
}

function startSeries() {
  const known = data.names.map((_, i) => i).filter((i) => data.preview[i].some((value) => value !== null));
  byId('series').hidden = !known.length;
  tiles(byId('series-tiles'), known, (i) => {
    const values = data.preview[i].filter((value) => value !== null), [low, high] = [-largest(values.map((v) => -v), -Infinity), largest(values, -Infinity)];
    return tile(data.names[i], `${number(low)} to ${number(high)}`, spark(data.preview[i], low, high, data.names[i]), ...timeAxis());
  })();
}

// The values are evenly spread over the whole recording: of many samples the extremes of each piece.
function spark(values, low, high, name) {
  const range = high - low || 1;
  let pen = 'M';
  const path = values.map((value, t) => {
    if (value === null) { pen = 'M'; return ''; }
    const step = `${pen}${(t / Math.max(values.length - 1, 1) * 200).toFixed(1)} ${(38 - 36 * (value - low) / range).toFixed(1)}`;
    pen = 'L';
    return step;
  }).join('');
  return make('svg', { class: 'series', viewBox: '0 0 200 40', preserveAspectRatio: 'none', role: 'img', 'aria-label': `Series ${name}` }, make('path', { class: 'spark', d: path }));
}

function timeAxis() {
  if (!data.span) return [];
  const [until, unit] = data.span, axis = make('div', { class: 'time', title: unit });
  const few = ticks(0, until, 2);
  for (const value of few.length > 1 ? few : ticks(0, until, 4)) {
    const mark = make('span', {}, number(value, 6));
    mark.style.left = `${100 * value / (until || 1)}%`;
    if (value > 0.92 * until) mark.classList.add('last');
    axis.append(mark);
  }
  return [axis];
}

function startEmbedding() {
  const chosen = data.names.map((_, i) => i).filter((i) => data.criteria[i]);
  startTimeGraph();
  tiles(byId('embedding-tiles'), chosen, (i) => tile(data.names[i], `dimension ${data.criteria[i].best[0]}, delay ${data.criteria[i].best[1]}`, criterion(data.criteria[i])))();
}

function criterion({ dims, delays, values, best, error }) {
  const known = values.flat().filter((value) => value !== null);
  const low = Math.min(...known), high = Math.max(...known);
  const clear = Math.min(1, (high - low) / (0.2 * Math.max(...known.map(Math.abs)) || 1)); // where all are nearly alike all look alike
  const chosen = [dims.indexOf(best[0]), delays.indexOf(best[1])];
  const [wide, tall, left] = [150 / delays.length, 80 / dims.length, 16];
  const drawing = make('svg', { viewBox: '0 0 168 96', role: 'img', 'aria-label': `Criterion, best at dimension ${best[0]}, delay ${best[1]}` });
  dims.forEach((dim, row) => {
    const y = 80 - (row + 1) * tall;
    drawing.append(make('text', { class: 'tick', x: left - 5, y: y + tall / 2 + 3.5, 'text-anchor': 'end' }, String(dim)));
    delays.forEach((delay, column) => {
      const value = values[row][column];
      const share = value === null ? 0 : (error ? high - value : value - low) / (high - low || 1);
      const box = make('rect', { x: left + column * wide, y, width: wide - 1, height: tall - 1 }, make('title', {}, `dimension ${dim}, delay ${delay}: ${number(value, 4)}`));
      box.style.fill = `color-mix(in oklab, var(--heat) ${Math.round(8 + 72 * clear * share ** 2)}%, var(--paper))`;
      drawing.append(box);
    });
  });
  delays.forEach((delay, column) => drawing.append(make('text', { class: 'tick', x: left + (column + 0.5) * wide, y: 92, 'text-anchor': 'middle' }, String(delay))));
  drawing.append(make('circle', { class: 'chosen', cx: left + (chosen[1] + 0.5) * wide, cy: 80 - (chosen[0] + 0.5) * tall, r: 4.5 }));
  return drawing;
}

function startCopy() {
  byId('copy').addEventListener('click', async () => {
    const works = [...document.querySelectorAll('.works li')].map((item) => item.textContent);
    try {
      await navigator.clipboard.writeText([byId('paragraph').textContent, '', ...works].join('\n'));
      byId('copied').textContent = 'Copied, with the references.';
    } catch {
      getSelection().selectAllChildren(byId('paragraph'));
      byId('copied').textContent = 'Selected; copy it with the keyboard.';
    }
  });
}
