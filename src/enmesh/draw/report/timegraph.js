// The links over time: a line per node, a column per lag in use, an arrow from (source, t - lag) to (target, t).

const MOST_LINES = 60;

function startTimeGraph() {
  const box = byId('timegraph'), order_ = data.order.filter((node) => nodes[node].edges.length);
  const lags = [...new Set(found.flatMap((link) => link.lags))].sort((a, b) => b - a);
  if (!order_.length || order_.length > MOST_LINES || !lags.length || lags.length > 24 || lags.some((lag) => lag % 1)) { box.hidden = byId('timegraph-say').hidden = true; return; }
  const font = 13, left = 16 + 0.6 * font * largest(order_.map((node) => data.labels[node].length)), wide = Math.min(180, Math.max(44, (roomOf('timegraph', 760) - left - 30) / lags.length)), tall = 34, top = 26;
  const column = new Map([...lags, 0].map((lag, k) => [lag, left + 12 + k * wide])), line = new Map(order_.map((node, k) => [node, top + 14 + k * tall]));
  const width = left + 30 + lags.length * wide, height = top + order_.length * tall + 4;
  const drawing = make('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Links between nodes at earlier times and now' });
  for (const [lag, x] of column) drawing.append(make('text', { class: 'tick', x, y: 14, 'text-anchor': 'middle' }, lag ? `t − ${lag}` : 't'));
  for (const [node, y] of line) {
    drawing.append(make('text', { x: left - 6, y: y + 4, 'text-anchor': 'end', 'font-size': font }, data.labels[node], make('title', {}, data.names[node])), make('line', { class: 'rule', x1: left + 12, x2: column.get(0), y1: y, y2: y }));
    for (const x of column.values()) drawing.append(make('circle', { class: 'moment', cx: x, cy: y, r: 4.5 }));
  }
  const steps = found.flatMap((link) => link.lags.map((lag) => timeStep(link, lag, column, line)));
  drawing.append(...steps.map((step) => step.group));
  box.append(drawing);
  follow(() => steps.forEach(({ link, shaft, head, group }) => {
    group.classList.toggle('off', !passes(link));
    shaft.style.stroke = head.style.fill = colour(link);
  }));
}

// Arrows of one target end a little apart from each other, in the order of their sources.
function timeStep(link, lag, column, line) {
  const into = found.filter((other) => other.target === link.target).map((other) => line.get(other.source)).sort((a, b) => a - b);
  const apart = (into.indexOf(line.get(link.source)) - (into.length - 1) / 2) * Math.min(5, 16 / into.length);
  const [x1, y1, x2, y2] = [column.get(lag) + 6, line.get(link.source), column.get(0) - 7, line.get(link.target) + apart];
  const [thin, thick] = data.widths, width = 22 * (thin + (thick - thin) * Math.max(link.te ?? 0, 0) / strongest), half = 2.5 + width / 2, long = 7 + width;
  const bend = Math.max(24, 0.45 * (x2 - x1));
  const d = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - long - bend} ${y2} ${x2 - long} ${y2}`;
  const shaft = make('path', { class: 'shaft', d, 'stroke-width': width }), head = make('path', { class: 'head', d: `M${x2} ${y2}l${-long} ${-half}v${2 * half}Z` });
  if (!isSure(link)) shaft.setAttribute('stroke-dasharray', '5 3');
  const group = make('g', { class: 'step', 'data-link': link.key }, shaft, head, make('path', { class: 'hit', d }));
  pointed(group, (event) => { lightLink(link); showTip(linkTip(link), event.clientX, event.clientY); }, calm);
  opens(group, link);
  return { link, shaft, head, group };
}
