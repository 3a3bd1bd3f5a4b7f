// The table of links: sorted by a click or a key on a heading, filtered with the network.

const COLUMNS = [
  { title: 'Source', value: (link) => data.names[link.source] },
  { title: 'Target', value: (link) => data.names[link.target] },
  { title: `TE (${NATS})`, value: (link) => link.te, number: true },
  { title: 'p', value: (link) => link.p, number: true },
  { title: 'q', value: (link) => link.q, number: true },
  { title: 'Lag', value: (link) => link.lag ?? link.lags[0] ?? null, text: lagText, number: true },
  ...(!data.units && Object.values(data.later).some((said) => !/^[\d.]+ samples?/.test(said)) ? [{ title: 'After', value: (link) => link.lag ?? link.lags[0] ?? null, text: laterText, number: true }] : []),
  ...(links.some((link) => link.effect !== null) ? [{ title: 'Effect', value: (link) => link.effect, text: (link) => (link.effect === null ? '–' : signed(link.effect)), number: true }] : []),
  ...(repeated ? [{ title: 'Stability', value: (link) => link.stability, number: true }] : []),
];
const order = { column: 2, down: true };
const FEW = 60, MOST = 600, MOST_PRINTED = 1200; // rows at first, on request, on paper; the CSV file has all
let room = FEW;

function startTable() {
  const head = byId('link-table').tHead.rows[0];
  COLUMNS.forEach((column, at) => {
    const button = make('button', { type: 'button' }, column.title);
    button.addEventListener('click', () => {
      order.down = order.column === at ? !order.down : at === 2;
      order.column = at;
      fill();
    });
    head.append(make('th', { scope: 'col', class: column.number ? 'number' : '', 'data-title': column.title }, button));
  });
  byId('all').addEventListener('change', (event) => { view.everything = event.target.checked; fill(); });
  byId('all').parentElement.append(` (${links.length})`);
  byId('more-links').addEventListener('click', () => { room = MOST; fill(); });
  pointedInside(byId('link-table').tBodies[0], (element) => lines.get(element.closest('tr')), lightLink);
  byId('link-table').tBodies[0].addEventListener('focusin', (event) => lightLink(lines.get(event.target.closest('tr'))));
  byId('link-table').tBodies[0].addEventListener('focusout', calm);
  follow(fill);
}

function listed() { return (view.everything ? links : found).filter(passes).sort(compare); }

const lines = new Map(), built = new Map(); // row -> link, link -> row: a row is made once

function fill() {
  const every = listed(), shown = every.slice(0, room);
  [...byId('link-table').tHead.rows[0].cells].forEach((cell, at) =>
    cell.setAttribute('aria-sort', at === order.column ? (order.down ? 'descending' : 'ascending') : 'none'));
  // Further rows are there for print, which has room for all.
  const more = every.slice(room, MOST_PRINTED).map((link) => built.get(link) ?? row(link));
  byId('link-table').tBodies[0].replaceChildren(...shown.map((link) => built.get(link) ?? row(link)), ...more);
  for (const link of shown) {
    built.get(link).classList.remove('beyond');
    built.get(link).querySelector('.size').style.color = colour(link);
  }
  for (const line of more) line.classList.add('beyond');
  byId('links-empty').hidden = shown.length > 0;
  byId('link-table').hidden = byId('links-hint').hidden = !shown.length;
  byId('links-empty').textContent = found.length ? 'No link to list here. Move the sliders, clear the name, or show all tested pairs.' : links.length ? 'No link was found. All tested pairs can be shown.' : 'No link was found.';
  byId('links-more').hidden = every.length <= room;
  byId('links-count').textContent = `The first ${shown.length} of ${every.length}; the CSV file has all of them.`;
  byId('more-links').hidden = room === MOST;
}

function compare(a, b) {
  const { value, number: numeric } = COLUMNS[order.column];
  const [x, y] = [value(a), value(b)];
  if (x === null || y === null) return (x === null) - (y === null);
  const way = numeric ? x - y : x.localeCompare(y, undefined, { numeric: true });
  return (order.down ? -way : way) || a.source - b.source || a.target - b.target;
}

function row(link) {
  const cells = COLUMNS.map((column) => {
    const value = column.value(link);
    return make('td', { class: column.number ? 'number' : '', 'data-title': column.title }, column.text ? column.text(link) : column.number ? number(value) : value);
  });
  const size = make('span', { class: 'size' }), dot = make('span', { class: isSure(link) ? 'dot sure' : 'dot' });
  size.style.width = `${4 * Math.max(link.te ?? 0, 0) / strongest}rem`;
  dot.title = `q ${isSure(link) ? 'up to' : 'above'} ${data.level}`;
  cells[2].prepend(size);
  cells[4].prepend(dot);
  const line = make('tr', { class: link.selected ? '' : 'unselected', 'data-link': link.key, tabindex: 0 }, ...cells);
  opens(line, link);
  lines.set(line, link);
  built.set(link, line);
  return line;
}
