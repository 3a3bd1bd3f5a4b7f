// The table of links: sorted by a click or a key on a heading, filtered with the network.

const COLUMNS = [
  { title: 'Source', value: (link) => data.names[link.source] },
  { title: 'Target', value: (link) => data.names[link.target] },
  { title: 'TE (nats)', value: (link) => link.te, number: true },
  { title: 'p', value: (link) => link.p, number: true },
  { title: 'q', value: (link) => link.q, number: true },
  { title: 'Lag', value: (link) => link.lag, number: true },
];
const order = { column: 2, down: true };

function startTable() {
  const head = byId('link-table').tHead.rows[0];
  COLUMNS.forEach((column, at) => {
    const button = make('button', { type: 'button' }, column.title);
    button.addEventListener('click', () => {
      order.down = order.column === at ? !order.down : at === 2;
      order.column = at;
      fill();
    });
    head.append(make('th', { scope: 'col', class: column.number ? 'number' : '' }, button));
  });
  byId('all').addEventListener('change', (event) => { view.everything = event.target.checked; fill(); });
  byId('all').parentElement.append(` (${links.length})`);
  follow(fill);
}

function fill() {
  const shown = (view.everything ? links : found).filter(passes).sort(compare);
  [...byId('link-table').tHead.rows[0].cells].forEach((cell, at) =>
    cell.setAttribute('aria-sort', at === order.column ? (order.down ? 'descending' : 'ascending') : 'none'));
  byId('link-table').tBodies[0].replaceChildren(...shown.map(row));
  byId('links-empty').hidden = shown.length > 0;
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
    return make('td', { class: column.number ? 'number' : '' }, column.number ? number(value) : value);
  });
  const size = make('span', { class: 'size' }), dot = make('span', { class: isSure(link) ? 'dot sure' : 'dot' });
  size.style.width = `${4 * Math.max(link.te ?? 0, 0) / strongest}rem`;
  size.style.color = dot.style.color = colour(link.q);
  dot.title = isSure(link) ? 'q up to 0.05' : 'q above 0.05';
  cells[2].prepend(size);
  cells[4].prepend(dot);
  const line = make('tr', { class: link.selected ? '' : 'unselected', 'data-link': `${link.source} ${link.target}` }, ...cells);
  pointed(line, (event) => showTip(linkTip(link), event.clientX, event.clientY));
  return line;
}
