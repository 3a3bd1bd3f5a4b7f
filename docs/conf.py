"""The pages: Sphinx, without the network. The code of the gallery is run, so that its pictures are those of today."""

import os
import re
import sys
import warnings
from pathlib import Path

import matplotlib

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))

from enmesh import HazardWarning, __version__  # noqa: E402

project, author, copyright = "enmesh", "the authors of enmesh", "the authors of enmesh"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
# Links that lead nowhere fail the build, as every warning does (-W).
nitpicky = False
suppress_warnings: list[str] = []

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
add_module_names = False
default_role = "code"

html_theme = "pydata_sphinx_theme"
html_title = "enmesh"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["globaltoc.html"]}
html_theme_options = {
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}


def draw_gallery() -> None:
    """Run the code of the gallery in the folder of its pictures."""
    matplotlib.use("Agg")
    pictures = HERE / "_gallery"
    pictures.mkdir(exist_ok=True)
    code = "".join(
        re.findall(r"```python\n(.*?)```", (HERE / "gallery.md").read_text(encoding="utf-8"), re.S)
    )
    before = Path.cwd()
    os.chdir(pictures)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", HazardWarning)
            exec(compile(code, "gallery.md", "exec"), {"__name__": "gallery"})
    finally:
        os.chdir(before)


draw_gallery()
