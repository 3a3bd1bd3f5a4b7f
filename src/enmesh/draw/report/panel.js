// The panel: the evidence of one link. It stays until it is closed, by its button or by Escape.

let asked = null, opener = null; // the link that is explained, and what had the focus before

function opens(element, link) {
  element.addEventListener('click', () => openPanel(link, element));
  element.addEventListener('keydown', (event) => {
    if (event.target !== element || !['Enter', ' '].includes(event.key)) return;
    event.preventDefault();
    openPanel(link, element);
  });
}

function openPanel(link, from) {
  hideTip();
  opener = from ?? opener;
  asked = link;
  const panel = byId('panel'), shown = found.filter(passes), at = shown.indexOf(link);
  const step = (by, sign) => {
    const button = make('button', { type: 'button', 'aria-label': by < 0 ? 'Previous link' : 'Next link' }, sign);
    button.disabled = shown.length < 2;
    button.addEventListener('click', () => { openPanel(shown[(at + by + shown.length) % shown.length]); });
    return button;
  };
  const close = make('button', { type: 'button', 'aria-label': 'Close' }, '×');
  close.addEventListener('click', closePanel);
  panel.replaceChildren(
    make('div', { class: 'panel-bar' }, make('h2', {}, arrowName(link)), ...(link.selected ? [step(-1, '‹'), step(1, '›')] : []), close),
    make('p', { class: 'panel-said' }, link.behind?.sentence ?? unkept(link)), rows(figures(link)), ...pictures(link));
  const wasOpen = !panel.hidden;
  panel.hidden = false;
  document.body.classList.add('explaining');
  panel.scrollTop = 0;
  document.querySelectorAll('.asked').forEach((element) => element.classList.remove('asked'));
  document.querySelectorAll(`[data-link="${link.key}"]`).forEach((element) => element.classList.add('asked'));
  panel.focus({ preventScroll: true });
  if (!wasOpen) fit();
  uncover(panel, from ?? document.querySelector(`.edge[data-link="${link.key}"]`));
}

// The sheet of a narrow screen comes from below: what was tapped is scrolled to where it can be seen.
function uncover(panel, element) {
  const sheet = panel.getBoundingClientRect(), target = element?.classList.contains('edge') ? element.querySelector('.shaft') : element;
  if (!target || sheet.left > 0) return;
  const box = target.getBoundingClientRect(), top = document.querySelector('.contents')?.offsetHeight ?? 0;
  if (box.bottom > sheet.top - 8 || box.top < top) scrollBy({ top: (box.top + box.bottom) / 2 - (top + sheet.top) / 2, behavior: 'instant' });
}

function closePanel() {
  if (byId('panel').hidden) return;
  byId('panel').hidden = true;
  asked = null;
  document.body.classList.remove('explaining');
  document.querySelectorAll('.asked').forEach((element) => element.classList.remove('asked'));
  fit();
  opener?.focus?.({ preventScroll: true });
}

addEventListener('keydown', (event) => { if (event.key === 'Escape') closePanel(); });

function unkept(link) {
  return link.selected ? 'Only its numbers are kept here.'
    : 'Not a link of the network. Its evidence was not kept on this page; net.explain in Python shows it.';
}

function figures(link) {
  const behind = link.behind ?? {}, limits = behind.low === undefined || behind.low === null ? '' : ` (${number(behind.low)} to ${number(behind.high)})`;
  return [[`transfer entropy, ${NATS}`, `${number(link.te, 4)}${limits}`], ['p-value', number(link.p)], ['q-value', number(link.q)],
    [`${link.lags.length > 1 ? 'lags' : 'lag'}, ${LAG_UNIT}`, laterText(link) === lagText(link) || /^[\d.]+ samples?/.test(laterText(link)) ? lagText(link) : `${lagText(link)} (${laterText(link)})`],
    ...(link.effect === null ? [] : [['effect, standard deviations', effectText(link)]]),
    ...(link.stability === null ? [] : [['stability: found again in', `${Math.round(100 * link.stability)} % of cuts`]]),
    ...(behind.given?.length ? [['given', behind.given.join(', ')]] : [])];
}

function pictures(link) {
  const { behind } = link, [source, target] = [data.labels[link.source], data.labels[link.target]], drawn_ = [];
  if (behind?.scatter?.length) drawn_.push(['Shape', `${target} against ${source}, ${link.lag} earlier, residuals of a regression on ${behind.given?.length ? 'the other drivers and ' : ''}the target's own past.`, scatter(behind)]);
  if (behind?.lags?.length) drawn_.push(['Lags', `Another measure: each lag alone, by quadratic regression; it differs from the ${number(link.te, 4)} ${NATS} of the link, in which all lags are tested together. Grey: 95 % of chance at one lag.`, lagChart(behind, link.lags)]);
  if (link.hist) drawn_.push(['Chance', behind?.null ? 'Line: measured. Bars: the distribution without the link, chi-square scaled to the p-value.' : 'Line: measured. Bars: surrogates, in which the link is broken.', histogram(link, 340, 110)]);
  if (behind?.local?.length) drawn_.push(['Over time', 'Local transfer entropy, averaged over pieces of the recording. Dashed: its mean.', localChart(behind)]);
  if (typeof partsOf === 'function') drawn_.push(...partsOf(link)); // the network alone has no model
  return drawn_.map(([title, caption, picture]) => make('figure', { class: 'chart' }, make('b', {}, title), picture, make('small', {}, caption)));
}

// --- small charts ---------------------------------------------------------------------------------------------------

// How wide a chart may be in its box.
function roomOf(id, most) { return Math.min(most, Math.max(byId(id).clientWidth, 240) || most); }

// An empty chart with round ticks; returns it with the functions that place values.
function chart(label, [left, right], [low, high], width = 340, height = 150, most = 6) {
  const edge = { left: 44, right: 8, top: 6, bottom: 20 };
  const x = (value) => edge.left + (value - left) / (right - left || 1) * (width - edge.left - edge.right);
  const y = (value) => height - edge.bottom - (value - low) / (high - low || 1) * (height - edge.top - edge.bottom);
  const box = make('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
  for (const value of ticks(low, high, most)) box.append(make('line', { class: 'rule', x1: edge.left, x2: width - edge.right, y1: y(value), y2: y(value) }), make('text', { class: 'tick', x: edge.left - 5, y: y(value) + 3.5, 'text-anchor': 'end' }, number(value)));
  for (const value of ticks(left, right, 6)) box.append(make('text', { class: 'tick', x: x(value), y: height - 5, 'text-anchor': 'middle' }, number(value)));
  box.append(make('line', { class: 'axis', x1: edge.left, x2: width - edge.right, y1: height - edge.bottom, y2: height - edge.bottom }));
  return { box, x, y };
}

function ends(values, pad = 0.04) {
  const known = values.filter((value) => value !== null), low = -largest(known.map((v) => -v), -Infinity), high = largest(known, -Infinity);
  const more = pad * (high - low || 1);
  return [low - more, high + more];
}

function broken(points, x, y) { return `M${points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join('L')}`; }

function scatter({ scatter: points, curve }) {
  const { box, x, y } = chart('Target against source', ends(points.map((p) => p[0])), ends(points.map((p) => p[1])), 340, 200);
  const dots = points.map(([a, b]) => `M${x(a).toFixed(1)} ${y(b).toFixed(1)}h0`).join('');
  box.append(make('path', { class: 'dots', d: dots }), make('path', { class: 'smooth', d: curve.length ? broken(curve, x, y) : '' }));
  return box;
}

function lagChart({ lags, lag_te: te, chance }, chosen) {
  const top = largest([...te.map((v) => v ?? 0), chance ?? 0]) * 1.08, { box, x, y } = chart(`Transfer entropy at lags 1 to ${lags.at(-1)}`, [0.4, lags.at(-1) + 0.6], [0, top]);
  if (chance !== null) box.append(make('rect', { class: 'band', x: x(0.4), width: x(lags.at(-1) + 0.6) - x(0.4), y: y(chance), height: y(0) - y(chance) }));
  lags.forEach((lag, k) => {
    if (te[k] === null) return;
    const mark = chosen.includes(lag) ? ' chosen' : '';
    box.append(make('line', { class: `stem${mark}`, x1: x(lag), x2: x(lag), y1: y(0), y2: y(te[k]) }), make('circle', { class: `stem${mark}`, cx: x(lag), cy: y(te[k]), r: 3 }, make('title', {}, `lag ${lag}: ${number(te[k])} nats`)));
  });
  return box;
}

function localChart({ times, local }) {
  const scaled = times.map((time) => time * data.dt), mean = local.reduce((sum, value) => sum + value, 0) / local.length;
  const { box, x, y } = chart('Local transfer entropy over time', [0, scaled.at(-1)], ends([0, ...local]), 340, 120);
  box.append(make('line', { class: 'mean', x1: x(0), x2: x(scaled.at(-1)), y1: y(mean), y2: y(mean) }), make('path', { class: 'spark', d: broken(scaled.map((time, k) => [time, local[k]]), x, y) }));
  return box;
}

function histogram(link, width, height) {
  const [low, high, counts] = link.hist;
  const from = Math.min(low, link.te ?? low), to = Math.max(high, link.te ?? high);
  const pad = 0.06 * (to - from || 1);
  const x = (value) => (value - from + pad) / (to - from + 2 * pad) * width;
  const most = Math.max(...counts), step = (x(high) - x(low)) / counts.length || 1, floor = height - 14;
  const bins = counts.map((count, i) => make('rect', { class: 'bin', x: x(low) + i * step, width: Math.max(step - 0.6, 0.8), y: floor * (1 - count / most), height: floor * count / most }));
  const label = `Without the link from ${number(low)} to ${number(high)}, measured ${number(link.te)}`;
  const drawing = make('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label }, ...bins,
    make('line', { class: 'axis', x1: 0, x2: width, y1: floor, y2: floor }));
  for (const value of from < 0.02 * to && to > 0 ? [0, to] : [from, to]) {
    drawing.append(make('text', { class: 'tick', x: Math.min(Math.max(x(value), 14), width - 14), y: height - 2, 'text-anchor': 'middle' }, number(value, 2)));
  }
  if (link.te !== null) drawing.append(make('line', { class: 'measured', x1: x(link.te), x2: x(link.te), y1: 0, y2: floor }));
  return drawing;
}
