// What the fitted model says: nodes kept at values, whether it predicts, and who acts together on a target.

const outlook = data.outlook;

function startOutlook() {
  if (!outlook) return;
  startWhatIf();
  startPredicts();
}

// Between the values at which a node was kept, changes lie on straight lines; states have no values between.
function changesOf(node, place, horizon) {
  const values = outlook.values[node], held = outlook.held[node];
  if (isStates(node)) return held[place][horizon];
  const value = valueAt(node, place), right = Math.max(1, values.findIndex((one, k) => k > 0 && (value <= one || k === values.length - 1)));
  const share = (value - values[right - 1]) / (values[right] - values[right - 1] || 1);
  return held[right][horizon].map((one, k) => held[right - 1][horizon][k] + share * (one - held[right - 1][horizon][k]));
}

function isStates(node) { return outlook.states[node]; }

function valueAt(node, place) { const values = outlook.values[node]; return isStates(node) ? values[place] : values[0] + (values.at(-1) - values[0]) * place / 100; }

function startWhatIf() {
  const node = byId('whatif-node'), at = byId('whatif-at'), horizon = byId('whatif-horizon');
  const drives = data.names.map((_, i) => found.some((link) => link.source === i));
  node.append(...data.names.flatMap((name, i) => (drives[i] ? [make('option', { value: i }, name)] : [])));
  horizon.append(...outlook.horizons.map((h, k) => make('option', { value: k }, String(h))));
  horizon.value = String(outlook.horizons.length - 1);
  byId('whatif-assumed').textContent = `This assumes: ${outlook.assumed.join(' ')}`;
  let kept = false; // until the slider is moved nothing is kept
  const home = () => {
    const values = outlook.values[node.value], states = isStates(node.value);
    kept = false;
    at.max = states ? values.length - 1 : 100;
    at.value = states ? 0 : Math.round(100 * (outlook.before.at(-1)[outlook.first[node.value]] - values[0]) / (values.at(-1) - values[0] || 1));
  };
  const draw = () => drawWhatIf(Number(node.value), Number(at.value), Number(horizon.value), kept);
  node.addEventListener('change', () => { home(); draw(); });
  at.addEventListener('input', () => { kept = true; draw(); });
  horizon.addEventListener('input', draw);
  byId('whatif-reset').addEventListener('click', () => { home(); draw(); });
  home();
  draw();
}

function drawWhatIf(node, place, horizon, kept) {
  const value = valueAt(node, place), shown = typeof value === 'number' ? number(value) : value, changes = changesOf(node, place, horizon).map((change) => (kept ? change : 0));
  const own = new Set(kept ? outlook.owner.flatMap((owner, k) => (owner === node ? [k] : [])) : []);
  const widths = outlook.ranges.map(([low, high]) => high - low || 1), share = (k) => Math.abs(changes[k]) / widths[k];
  byId('whatif-value').textContent = shown;
  byId('whatif-at').setAttribute('aria-valuetext', `${data.names[node]} kept at ${shown}`);
  const most = outlook.columns.map((_, k) => k).filter((k) => !own.has(k)).sort((a, b) => share(b) - share(a))[0];
  byId('whatif-said').textContent = !kept ? `Move the slider, and ${data.names[node]} is kept at another value.` : most === undefined || share(most) < 0.005 ? `With ${data.names[node]} kept at ${shown} no other node moves.`
    : `With ${data.names[node]} kept at ${shown}, ${outlook.columns[most]} moves most: by ${signed(changes[most])} after ${outlook.horizons[horizon]} sample${outlook.horizons[horizon] > 1 ? 's' : ''}.`;
  byId('whatif-command').textContent = whatIfCommand(node, value, outlook.horizons[horizon]);
  byId('whatif').classList.toggle('asked-for', kept);
  byId('whatif-table').tBodies[0].replaceChildren(...outlook.columns.map((name, k) => {
    const before = outlook.before[horizon][k], after = own.has(k) && typeof value === 'number' ? value : before + changes[k];
    return make('tr', { class: own.has(k) ? 'kept' : share(k) < 0.005 ? 'still' : 'moves', 'data-column': k }, make('td', {}, name), make('td', {}, track(outlook.ranges[k], before, after, name)),
      make('td', { class: 'num' }, number(before)), make('td', { class: 'num' }, number(after)), make('td', { class: 'num' }, own.has(k) ? 'kept' : signed(changes[k])));
  }));
}

// What gives the same numbers in Python.
function whatIfCommand(node, value, horizon) { return `net.fit().intervene({${JSON.stringify(data.names[node])}: ${typeof value === 'number' ? Number(value.toPrecision(4)) : JSON.stringify(value)}}, horizon=${horizon})`; }

// Where a mean lies in the range of its node: a tick without the change, a dot with it.
function track([low, high], before, after, name) {
  const wide = matchMedia('(max-width: 640px)').matches ? 64 : 220, x = (value) => 6 + (wide - 12) * Math.min(Math.max((value - low) / (high - low || 1), 0), 1);
  return make('svg', { class: 'track', viewBox: `0 0 ${wide} 18`, width: wide, height: 18, role: 'img', 'aria-label': `${name}: ${number(before)} without, ${number(after)} with` },
    make('line', { class: 'axis', x1: 6, x2: wide - 6, y1: 9, y2: 9 }), make('line', { class: 'way', x1: x(before), x2: x(after), y1: 9, y2: 9 }),
    make('line', { class: 'tickmark', x1: x(before), x2: x(before), y1: 3, y2: 15 }), make('circle', { class: 'now', cx: x(after), cy: 9, r: 5 }));
}

function startPredicts() {
  const rows_ = outlook.predicts, left = 24 + 7 * Math.min(28, largest(rows_.map(([name]) => name.length))), wide = roomOf('predict-box', left + 440) - left - 20, tall = 24;
  const x = (share) => left + wide * Math.min(Math.max(share, 0), 1), driven = data.names.map((_, i) => found.some((link) => link.target === i));
  const gains = rows_.map(([, alone, all]) => all - alone), better = gains.filter((gain, i) => driven[i] && gain > 0).length, most = gains.indexOf(Math.max(...gains));
  byId('predict-said').textContent = better ? `With its links, ${better} of ${driven.filter(Boolean).length} driven nodes are predicted better than by their own past alone; ${rows_[most][0]} gains most (${percent(rows_[most][1])} to ${percent(rows_[most][2])}).` : 'The links do not help to predict the next sample.';
  const box = make('svg', { viewBox: `0 0 ${left + wide + 20} ${tall * rows_.length + 42}`, width: left + wide + 20, role: 'img', 'aria-label': byId('predict-said').textContent });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) box.append(make('line', { class: 'rule', x1: x(share), x2: x(share), y1: 0, y2: tall * rows_.length }), make('text', { class: 'tick', x: x(share), y: tall * rows_.length + 14, 'text-anchor': 'middle' }, percent(share)));
  rows_.forEach(([name, alone, all], i) => {
    const y = tall * (i + 0.5);
    box.append(make('text', { class: 'tick', x: left - 10, y: y + 4, 'text-anchor': 'end' }, data.labels[i]), make('line', { class: 'way', x1: x(alone ?? 0), x2: x(all ?? 0), y1: y, y2: y }),
      make('circle', { class: 'before', cx: x(alone ?? 0), cy: y, r: 5 }, make('title', {}, `${name}: own past alone ${percent(alone)}`)), make('circle', { class: 'now', cx: x(all ?? 0), cy: y, r: 5 }, make('title', {}, `${name}: with its drivers ${percent(all)}`)));
  });
  const y = tall * rows_.length + 33;
  box.append(make('circle', { class: 'before', cx: left, cy: y - 4, r: 5 }), make('text', { class: 'tick', x: left + 10, y }, 'own past alone'), make('circle', { class: 'now', cx: left + 130, cy: y - 4, r: 5 }), make('text', { class: 'tick', x: left + 140, y }, 'with its drivers'));
  byId('predict-box').append(box);
}

function percent(share) { return share === null ? '–' : `${Math.round(100 * share)} %`.replace('-', '−'); }

// Of a target with two or three drivers: what each tells alone, what several tell alike, what they tell only together.
function partsOf(link) {
  const found_ = outlook?.parts[data.names[link.target]];
  if (!found_ || !link.selected) return [];
  const most = largest(found_.map(([, , value]) => Math.abs(value))), tall = 22, kinds = { unique: 'alone', redundant: 'alike', synergistic: 'only together' };
  const box = make('svg', { viewBox: `0 0 340 ${tall * found_.length}`, role: 'img', 'aria-label': `Parts of what drivers tell of ${data.names[link.target]}` });
  found_.forEach(([part, kind, value], i) => {
    const words = `${part.replaceAll(' | ', ', ')} ${kinds[kind]}`, y = tall * i;
    box.append(make('text', { class: 'tick', x: 166, y: y + 14, 'text-anchor': 'end' }, words.length > 27 ? `${words.slice(0, 26)}…` : words, make('title', {}, words)),
      make('rect', { class: `part ${kind}`, x: 172, y: y + 4, width: Math.max(1, 110 * Math.abs(value) / most), height: 13 }), make('text', { class: 'tick', x: 178 + 110 * Math.abs(value) / most, y: y + 14 }, number(value)));
  });
  return [['Who acts together', `Information of the drivers of ${data.names[link.target]} about it, in nats. Not tested here; em.parts in Python tests each part.`, box]];
}
