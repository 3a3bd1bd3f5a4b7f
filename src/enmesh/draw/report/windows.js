// The slider over windows: the network of the window that it stands at; width is strength, faint: q above 0.05.

function startWindows() {
  const box = byId('window-net');
  if (!box) return;
  const { times, pairs, te, on } = JSON.parse(box.dataset.windows), slider = byId('window');
  const arrows_ = pairs.map((pair) => box.querySelector(`[data-pair="${pair}"]`));
  const show_ = () => {
    const at = Number(slider.value);
    byId('window-time').textContent = number(times[at], 5);
    arrows_.forEach((arrow, k) => {
      arrow.style.opacity = on[at][k] ? 1 : 0.12;
      arrow.querySelector('.way').setAttribute('stroke-width', (data.widths[0] + (0.24 - data.widths[0]) * te[at][k]).toFixed(3));
    });
  };
  slider.addEventListener('input', show_);
  show_();
}
startWindows();
