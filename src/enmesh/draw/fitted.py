"""Text in units of a drawing: as text in an SVG, in a font that has its letters, and never wider than its room."""

from functools import cache
from typing import Any

import matplotlib as mpl
from matplotlib.font_manager import fontManager
from matplotlib.text import Text

# Fonts with letters that the usual one lacks, as systems have them; those that are installed are asked in this order.
FURTHER = (
    "Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Source Han Sans",
    "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "MS Gothic", "Malgun Gothic", "Apple SD Gothic Neo",
    "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "IPAGothic", "IPAexGothic", "Droid Sans Fallback",
    "Noto Sans Arabic", "Noto Naskh Arabic", "Geeza Pro", "Noto Sans Hebrew", "Arial Hebrew", "Arial",
    "Arial Unicode MS", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Symbola", "Segoe UI Emoji",
    "Segoe UI Symbol", "Apple Symbols", "Noto Sans Symbols", "FreeSans", "FreeSerif", "Unifont",
)  # fmt: skip


@cache
def families() -> list[str]:
    """Return the fonts to ask for a letter, in order; all of them are installed."""
    there = {font.name for font in fontManager.ttflist}
    usual = [name for name in mpl.rcParams["font.sans-serif"] if name in there][:1]
    return list(dict.fromkeys([*(usual or ["DejaVu Sans"]), *(name for name in FURTHER if name in there)]))


class FittedText(Text):
    """A line of text ``unit`` high in data units, smaller where it would be wider than ``room``."""

    def __init__(self, x: float, y: float, text: str, *, unit: float, room: float, **style: Any):
        super().__init__(
            x, y, text, ha="center", va="center_baseline", rotation_mode="anchor", parse_math=False, **style
        )
        self.set_fontfamily(families())
        self.unit, self.room = unit, room
        self.set_in_layout(False)

    def draw(self, renderer: Any) -> None:
        """Set the size that fits now, and draw."""
        (x0, _), (x1, _) = self.get_transform().transform([(0.0, 0.0), (1.0, 0.0)])
        per_unit = abs(x1 - x0)
        self.set_fontsize(max(per_unit * self.unit * 72 / self.figure.dpi, 0.5))
        wide, _, _ = renderer.get_text_width_height_descent(self.get_text(), self.get_fontproperties(), False)
        self.set_fontsize(self.get_fontsize() * min(1.0, self.room * per_unit / max(wide, 1e-9)))
        super().draw(renderer)
