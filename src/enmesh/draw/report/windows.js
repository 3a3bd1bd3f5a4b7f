// The player: the network of the window that the slider stands at; width is strength, faint: q above 0.05.

const PAUSE = 450; // milliseconds for a window

function startWindows() {
  const box = byId('window-net');
  if (!box) return;
  const { times, pairs, te, on } = JSON.parse(box.dataset.windows), slider = byId('window'), play = byId('play');
  const arrows_ = pairs.map((pair) => [...box.querySelectorAll(`[data-pair="${pair}"]`)]), counts = on.map((row) => row.reduce((a, b) => a + b, 0));
  const map = document.querySelector('#windows .map'), every = Number(document.querySelector('#windows [data-every]')?.dataset.every ?? 1);
  const bars = windowBars(times, counts, (at) => { slider.value = at; show_(); });
  byId('window-count').append(bars.box);
  const show_ = () => {
    const at = Number(slider.value);
    byId('window-time').textContent = number(times[at], 5);
    slider.setAttribute('aria-valuetext', `around ${number(times[at], 5)}: ${counts[at]} links`);
    arrows_.forEach((both, k) => both.forEach((arrow) => {
      arrow.style.opacity = on[at][k] ? 1 : 0.25;
      arrow.querySelector('.way').setAttribute('stroke-width', (data.widths[0] + (0.24 - data.widths[0]) * te[at][k]).toFixed(3));
    }));
    map?.querySelectorAll('.now').forEach((cell) => cell.classList.remove('now'));
    map?.querySelectorAll(`tr:not(:first-child) > :nth-child(${Math.floor(at / every) + 2})`).forEach((cell) => cell.classList.add('now'));
    bars.mark(at);
  };
  let clock = 0;
  const stop = () => { clearInterval(clock); clock = 0; play.textContent = '▶'; play.setAttribute('aria-label', 'Play'); };
  play.addEventListener('click', () => {
    if (clock) { stop(); return; }
    if (Number(slider.value) === times.length - 1) slider.value = 0;
    play.textContent = '❚❚';
    play.setAttribute('aria-label', 'Pause');
    clock = setInterval(() => {
      if (Number(slider.value) >= times.length - 1) { stop(); return; }
      slider.value = Number(slider.value) + 1;
      show_();
    }, PAUSE);
  });
  slider.addEventListener('input', () => { stop(); show_(); });
  show_();
}

// How many links each window has; a click goes there.
function windowBars(times, counts, go) {
  const most = Math.max(...counts, 1), room_ = roomOf('window-count', 760), half = (times.at(-1) - times[0]) / (2 * Math.max(times.length - 1, 1)), { box, x, y } = chart('Number of links in each window', [times[0] - half, times.at(-1) + half], [0, most], room_, 120, Math.min(most, 6)), wide = Math.max(1.5, 0.8 * (room_ - 52) / times.length);
  const marks = counts.map((count, k) => {
    const bar = make('rect', { class: 'bin', x: x(times[k]) - wide / 2, y: y(count), width: wide, height: y(0) - y(count) }, make('title', {}, `${number(times[k], 5)}: ${count}`));
    bar.addEventListener('click', () => go(k));
    return bar;
  });
  box.append(...marks);
  return { box, mark: (at) => marks.forEach((bar, k) => bar.classList.toggle('now', k === at)) };
}
startWindows();
