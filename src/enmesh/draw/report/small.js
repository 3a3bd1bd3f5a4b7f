// Pages without a network of their own: tabs, a divider between two networks, and the table as a CSV file.

const byId = (id) => document.getElementById(id);

for (const tab of document.querySelectorAll('[role=tab]')) {
  tab.addEventListener('click', () => {
    for (const other of document.querySelectorAll('[role=tab]')) {
      other.setAttribute('aria-selected', String(other === tab));
      byId(other.dataset.tab).hidden = other !== tab;
    }
  });
}

const cut = byId('cut');
if (cut) {
  const layers = document.querySelector('.layers'), show = () => layers.style.setProperty('--cut', `${cut.value}%`);
  cut.addEventListener('input', show);
  layers.addEventListener('pointermove', (event) => {
    if (!event.buttons) return;
    const box = layers.getBoundingClientRect(), narrow = matchMedia('(max-width: 640px)').matches;
    cut.value = Math.round(100 * (narrow ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width));
    show();
  });
  show();
}

byId('save-csv').addEventListener('click', () => {
  const rows = JSON.parse(byId('rows').textContent);
  const cell = (value) => (value === null ? '' : /[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  const address = URL.createObjectURL(new Blob([`${rows.map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`], { type: 'text/csv;charset=utf-8' }));
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = `${byId('save-csv').dataset.name}.csv`;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
});
document.documentElement.dataset.drawn = 'all';
