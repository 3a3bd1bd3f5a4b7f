"""The pages: Sphinx, without the network. Pictures are drawn by the pages' own code, formulas become MathML."""

import re
import shutil
import sys
from pathlib import Path

from docutils import nodes
from sphinx.ext import autosummary

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parent / "reproduce"), str(HERE)]

from notebooks import write_all  # noqa: E402
from pictures import DRAWN, draw_all  # noqa: E402

from enmesh import __version__  # noqa: E402

project, author, copyright = "enmesh", "the authors of enmesh", "the authors of enmesh"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
extensions += ["sphinx_design", "sphinx_copybutton"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
exclude_patterns = ["_build", "_gallery"]
templates_path = ["_templates"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
# Links that lead nowhere fail the build, as every warning does (-W).
nitpicky = False
suppress_warnings: list[str] = []

autosummary_generate = True
autosummary.WELL_KNOWN_ABBREVIATIONS += ("eq.",)  # no end of a sentence: summaries go on after "(eq. te)"
shutil.rmtree(HERE / "api", ignore_errors=True)  # pages of names that are gone would stay
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
maximum_signature_line_length = 70
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
add_module_names = False
default_role = "py:obj"
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = "enmesh"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "**": ["globaltoc.html"]}
html_theme_options = {
    "navbar_center": ["site-links"],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}


def formula(latex, display):
    """Return a formula as MathML, which browsers draw by themselves."""
    from latex2mathml.converter import convert

    if "\\\\" in latex:
        latex = rf"\begin{{split}}{latex}\end{{split}}"
    made = convert(latex, display=display).replace("<mi>;</mi>", '<mo separator="true">;</mo>')
    space = '<mspace width="0.17em"/>'
    return re.sub("<mi>(log|tanh)</mi>", rf"{space}<mi>\1</mi>{space}", made)


def write_inline(self, node):
    """Write a formula within a line."""
    self.body.append(formula(node.astext(), "inline"))
    raise nodes.SkipNode


def write_block(self, node):
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="formula">{formula(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def pair_pictures(app, doctree):
    """Put the dark picture beside each light one; the theme shows the one that fits."""
    for image in list(doctree.findall(nodes.image)):
        picture = Path(image["uri"])
        dark = picture.parent / "dark" / picture.name
        if picture.parts[0] == DRAWN.name and (HERE / dark).exists():
            twin = image.deepcopy()
            twin["uri"] = dark.as_posix()
            image["classes"] = [*image["classes"], "only-light"]
            twin["classes"] = [*twin["classes"], "only-dark"]
            image.parent.insert(image.parent.index(image) + 1, twin)


def copy_reports(app, exception):
    """Put the pages that were written beside the pictures where frames find them."""
    for report in DRAWN.glob("*/*.html"):
        where = Path(app.outdir) / "live" / report.parent.name
        where.mkdir(parents=True, exist_ok=True)
        shutil.copy(report, where)
    for page in ("fields", "notebooks"):
        write_all(HERE / f"{page}.md", Path(app.outdir) / "live" / page)
    shutil.copytree(HERE.parent / "src/enmesh/schemas", Path(app.outdir) / "schemas", dirs_exist_ok=True)
    shutil.copy(HERE.parent / "llms.txt", app.outdir)


def setup(app):
    """Connect the steps above."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    app.connect("builder-inited", lambda app: draw_all())
    app.connect("doctree-read", pair_pictures, priority=100)
    app.connect("build-finished", copy_reports)
