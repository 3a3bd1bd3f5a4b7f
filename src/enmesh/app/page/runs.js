// A run: its progress and the network as it grows; then the report, pictures, notes, export, and runs side by side.

// The views of a finished run.
const VIEWS = [
  ['report', 'Report', (run) => frame(`runs/${run.id}/report#network`, `Report of ${run.title}`)],
  ['pictures', 'Pictures', picturesView],
  ['whatif', 'What if', whatIfView],
  ['power', 'Power', powerView],
  ['notes', 'Notes', notesView],
  ['repeat', 'Repeat', (run) => make('div', { class: 'inside' }, make('p', {}, 'These lines give the same network again.'), repeatLines(run.command, run.python, exampleOf(run)))],
];
let view = 'report';

function exampleOf(run) { return state.recordings.find((one) => one.id === run.recording)?.example; }

function frame(src, title) { return make('iframe', { src, title, sandbox: 'allow-scripts allow-downloads allow-modals' }); }

followers.push((now) => {
  if (now.kind !== 'run') return;
  const run = now.known, box = byId('run'), done = run.status === 'done';
  const made = done ? `${run.id} ${view}` : run.id + run.status;
  if (box.dataset.made !== made) {
    box.dataset.made = made;
    box.classList.toggle('whole', done && view === 'report');
    box.replaceChildren(...(done ? finished(run) : unfinished(run)));
  }
  if (!done) drawProgress(run);
});

// --- on the way ---------------------------------------------------------------------------------------------------------------

function unfinished(run) {
  const going = ['running', 'waiting'].includes(run.status);
  const title = { running: 'Finding who drives whom', waiting: 'Waiting for a run to end', failed: 'This cannot be run' }[run.status] ?? 'Stopped';
  const act = going ? button('Cancel', () => attempt(() => ask('cancel', { run: run.id })), { id: 'cancel' })
    : button(run.status === 'failed' ? 'Try again' : 'Go on', () => attempt(() => ask('resume', { run: run.id })), { id: 'resume', class: 'main' });
  return [
    make('h1', {}, title), make('p', { id: 'phase', role: 'status' }),
    make('progress', { id: 'bar', hidden: !going, 'aria-label': 'Progress' }),
    make('p', {}, act, ' ', button('Change the choices', () => show('recording', run.recording))),
    make('div', { id: 'growing' }), make('ul', { id: 'arrows', class: 'links', 'aria-label': 'Links found so far' }),
  ];
}

function drawProgress(run) {
  const bar = byId('bar');
  const much = run.total ? `${run.done} of ${run.total}` : run.done ? `${run.done.toLocaleString('en')} done` : '';
  byId('phase').textContent = run.status === 'running' ? [run.phase ?? 'starting', much].filter(Boolean).join(': ') : run.message;
  if (run.total) { bar.max = run.total; bar.value = run.done; } else bar.removeAttribute('value');
  const arrows = run.arrows ?? [], key = JSON.stringify([run.names, arrows]);
  if (byId('growing').dataset.made === key) return;
  byId('growing').dataset.made = key;
  byId('growing').replaceChildren(...(run.names.length ? [network(run.names, arrows)] : []));
  byId('arrows').replaceChildren(...arrows.map(([source, target]) => make('li', {}, `${source} → ${target}`)));
}

// Nodes on a circle, with the arrows found so far.
function network(names, arrows) {
  const many = names.length > 40, radius = Math.max(110, 11 * names.length), wide = radius + 110;
  const place = new Map(names.map((name, i) => [name, 2 * Math.PI * i / names.length - Math.PI / 2]));
  const at = (name, far = radius) => [far * Math.cos(place.get(name)), far * Math.sin(place.get(name))];
  const head = make('marker', { id: 'head', viewBox: '0 0 10 10', refX: 9, refY: 5, markerWidth: 6, markerHeight: 6, orient: 'auto-start-reverse' }, make('path', { d: 'M0 0L10 5L0 10z' }));
  const lines = arrows.map(([source, target]) => {
    const [x, y] = at(source), [u, v] = at(target), long = Math.hypot(u - x, v - y) || 1, gap = many ? 6 : 24;
    const [dx, dy] = [(u - x) / long, (v - y) / long], bend = 0.12 * long;
    return make('path', { class: 'arrow', 'marker-end': 'url(#head)',
      d: `M${x + dx * gap} ${y + dy * gap}Q${(x + u) / 2 - dy * bend} ${(y + v) / 2 + dx * bend} ${u - dx * gap} ${v - dy * gap}` });
  });
  const nodes = names.map((name) => {
    const [x, y] = at(name), short = name.length > 14 ? `${name.slice(0, 13)}…` : name, width = many ? 8 : 16 + 7.4 * short.length;
    return make('g', { class: 'node' }, make('title', {}, name), make('rect', { x: x - width / 2, y: y - (many ? 4 : 14), width, height: many ? 8 : 28, rx: 14 }),
      many ? null : make('text', { x, y: y + 4.5 }, short));
  });
  const label = `${count(arrows.length, 'link')} among ${count(names.length, 'node')}`;
  return make('svg', { viewBox: `${-wide} ${-radius - 30} ${2 * wide} ${2 * radius + 60}`, role: 'img', 'aria-label': label }, make('defs', {}, head), ...lines, ...nodes);
}

// --- done -------------------------------------------------------------------------------------------------------------------------

function finished(run) {
  const choose = VIEWS.map(([name, label]) => button(label, () => { view = name; refresh(); }, { 'aria-pressed': String(view === name), 'data-view': name }));
  const spoken = make('details', { class: 'spoken' }, make('summary', {}, 'Links as a list'), make('ul', { class: 'links', id: 'arrows' }, ...run.arrows.map(([source, target]) => make('li', {}, `${source} drives ${target}`))));
  return [
    make('div', { class: 'tools' }, make('h1', {}, run.headline), make('span', { class: 'quiet' }, [run.title, duration(run.spent), run.warnings ? count(run.warnings, 'caution') : ''].filter(Boolean).join(' · ')), spoken,
      make('div', { class: 'pick', role: 'group', 'aria-label': 'View' }, ...choose),
      make('a', { class: 'button main', id: 'export', href: `runs/${run.id}/results.zip`, download: `${run.folder}.zip` }, 'Download results')),
    VIEWS.find(([name]) => name === view)[2](run),
  ];
}

const LAYOUTS = { graph: 'Network', circle: 'Circle', matrix: 'Matrix', timegraph: 'Over time', lags: 'Every lag', intervals: 'Intervals', nulls: 'Against chance' };

function picturesView(run) {
  const theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light', box = make('figure', { class: 'picture' });
  const draw = (kind) => {
    const src = `runs/${run.id}/${kind}.svg?theme=${theme}`, image = make('img', { src, alt: `${LAYOUTS[kind]} of ${run.title}` });
    image.addEventListener('error', async () => {
      const said = await fetch(src).then(answerOf).catch((error) => error.message);
      drawing.remove();
      image.replaceWith(make('p', { class: 'note' }, `This picture cannot be drawn: ${said}`));
    });
    const saves = data.formats.map((ending) => make('a', { class: 'button', href: `runs/${run.id}/${kind}.${ending}?theme=light&save=1`, download: '' }, ending.toUpperCase()));
    const drawing = make('p', { class: 'quiet', role: 'status' }, 'Drawing …');
    image.addEventListener('load', () => drawing.remove());
    box.replaceChildren(image, drawing, make('figcaption', {}, 'Save as ', ...saves));
  };
  const choose = make('select', { id: 'layout', 'aria-label': 'Layout', onchange: () => draw(choose.value) }, ...data.kinds.map((kind) => make('option', { value: kind }, LAYOUTS[kind])));
  draw(data.kinds[0]);
  return make('div', { class: 'inside' }, make('p', {}, make('label', {}, 'Layout ', choose)), box);
}

// A form that asks as soon as something in it changes; `draw` shows the answer.
function asking(action, run, fields, draw) {
  const shown = make('div', { class: 'answer', 'aria-live': 'polite' }, make('p', {}, 'Computing …'));
  let last = 0;
  const send = async () => {
    const mine = ++last, given = Object.fromEntries(fields.map((field) => [field.name, field.type === 'checkbox' ? field.checked : field.value]));
    shown.classList.add('busy');
    const answer = await ask(action, { run: run.id, ...given }).catch((error) => ({ refused: error.message }));
    if (mine !== last) return;
    shown.classList.remove('busy');
    shown.replaceChildren(...(answer.refused ? [make('p', { class: 'note' }, answer.refused)] : draw(answer)));
  };
  for (const field of fields) field.addEventListener('change', send);
  send();
  return make('div', { class: 'inside' }, make('p', { class: 'form' }, ...fields.map((field) => make('label', {}, `${field.dataset.says} `, field, ' '))), shown);
}

function input(name, says, more) { return make(more.options ? 'select' : 'input', { name, 'data-says': says, ...more, options: null }, ...(more.options ?? []).map((value) => make('option', { value, selected: value === more.value }, value))); }

function whatIfView(run) {
  if (!run.names.length) return make('p', { class: 'inside' }, 'The nodes of this run are not known.');
  const [source, target] = run.arrows[0] ?? [run.names[0], run.names.at(-1)];
  const fields = [input('source', 'Change', { options: run.names, value: source }), input('change', 'by', { type: 'number', step: 'any', value: 1 }), input('target', 'and watch', { options: run.names, value: target }),
    input('horizon', 'samples ahead', { type: 'number', min: 1, max: 200, value: 10 }), input('hold', 'hold the change', { type: 'checkbox' })];
  return asking('whatif', run, fields, ({ sentence, assumed, rows }) => [make('p', { class: 'said' }, sentence),
    lineChart('Effect at each sample, with its interval', rows.map((row) => row[0]), rows.map((row) => row[1]), rows.map((row) => [row[2], row[3]]), 'samples after the change'),
    make('p', {}, 'This assumes:'), make('ul', {}, ...assumed.map((one) => make('li', {}, one)))]);
}

function powerView(run) {
  const fields = [input('te', 'Transfer entropy of a link (nats)', { type: 'number', min: 0, step: 'any', placeholder: 'such as 0.02' })];
  return asking('power', run, fields, ({ sentence, by, at, share, points }) => [make('p', { class: 'said' }, sentence),
    lineChart('Probability to find a link', points[0].map(Math.log), points[1], null, by === 'te' ? 'transfer entropy (nats)' : 'samples', { at: Math.log(at), share, ends: [0, 1], text: (x) => (by === 'te' ? Number(Math.exp(x).toPrecision(2)) : Math.round(Math.exp(x)).toLocaleString('en')) })]);
}

// A line with its limits; with `mark` the place where it reaches a share.
function lineChart(label, xs, ys, limits, below, mark = null) {
  const [wide, tall, left, foot] = [640, 260, 60, 44], every = [...ys, 0, ...(limits ?? []).flat()].filter((value) => value !== null);
  const [low, high] = mark?.ends ?? [Math.min(...every), Math.max(...every)], text = mark?.text ?? ((value) => value);
  const x = (value) => left + (value - xs[0]) / (xs.at(-1) - xs[0] || 1) * (wide - left - 14), y = (value) => 8 + (high - value) / (high - low || 1) * (tall - foot - 8);
  const path = (values) => `M${xs.map((one, k) => `${x(one).toFixed(1)} ${y(values[k]).toFixed(1)}`).join('L')}`;
  const drawn = [low, low < 0 && high > 0 ? 0 : (low + high) / 2, high].flatMap((value) => [make('line', { class: 'rule', x1: left, x2: wide - 14, y1: y(value), y2: y(value) }), make('text', { x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, String(Number(value.toPrecision(2))))]);
  if (limits) drawn.push(make('path', { class: 'band', d: `${path(limits.map(([one]) => one))}L${[...xs].reverse().map((one, k) => `${x(one).toFixed(1)} ${y(limits.at(-1 - k)[1]).toFixed(1)}`).join('L')}Z` }));
  drawn.push(make('path', { class: 'line', d: path(ys) }));
  if (mark) drawn.push(make('circle', { class: 'mark', cx: x(mark.at), cy: y(mark.share), r: 5 }), make('text', { x: x(mark.at) + 9, y: y(mark.share) + 15 }, String(text(mark.at))));
  for (const place of [0, 0.5, 1]) { const value = xs[0] + place * (xs.at(-1) - xs[0]); drawn.push(make('text', { x: x(value), y: tall - 26, 'text-anchor': ['start', 'middle', 'end'][2 * place] }, String(text(place === 0.5 && !mark ? Math.round(value) : value)))); }
  return make('figure', { class: 'chart' }, make('figcaption', {}, label), make('svg', { viewBox: `0 0 ${wide} ${tall}`, role: 'img', 'aria-label': label }, ...drawn, make('text', { x: (wide + left) / 2, y: tall - 6, 'text-anchor': 'middle' }, below)));
}

function notesView(run) {
  const title = make('input', { id: 'note-title', type: 'text', value: run.shown, placeholder: 'Title' });
  const notes = make('textarea', { id: 'note-text', rows: 8, placeholder: 'What was recorded, what you expected, what you see.' }, run.notes);
  const save = () => attempt(() => ask('note', { run: run.id, title: title.value, notes: notes.value }));
  for (const input of [title, notes]) input.addEventListener('change', save);
  const page = button('Download the report with notes', async () => {
    await save();
    location.assign(`runs/${run.id}/noted`);
  }, { id: 'noted' });
  return make('div', { class: 'inside' }, make('label', { for: 'note-title' }, 'Title'), title, make('label', { for: 'note-text' }, 'Notes, with an empty line between paragraphs'), notes, make('p', {}, page));
}

// --- side by side -------------------------------------------------------------------------------------------------------------------

const chosen = new Set();

followers.push((now) => {
  if (now.kind !== 'compare') return;
  const done = state.runs.filter((run) => run.status === 'done'), box = byId('compare');
  if (!chosen.size) {
    const alike = done.filter((run) => run.recording === done.at(-1)?.recording);
    (alike.length > 1 ? alike : done).slice(-2).forEach((run) => chosen.add(run.id));
  }
  const made = JSON.stringify([done.map((run) => run.id), [...chosen]]);
  if (box.dataset.made === made) return;
  box.dataset.made = made;
  const boxes = done.map((run) => {
    const input = make('input', { type: 'checkbox', checked: chosen.has(run.id), onchange: () => { if (input.checked) chosen.add(run.id); else chosen.delete(run.id); refresh(); } });
    return make('label', {}, input, ` ${run.title} (${count(run.links, 'link')})`);
  });
  const query = [...chosen].map((id) => `run=${id}`).join('&');
  box.classList.add('whole');
  box.replaceChildren(make('div', { class: 'tools' }, make('h1', {}, 'Side by side'), ...boxes),
    chosen.size > 1 ? frame(`several?${query}`, 'Networks side by side') : make('p', { class: 'inside' }, 'Choose two runs or more.'));
});
