"""Configuration of Sphinx for the site."""

from __future__ import annotations

import nandlab

project = "nandlab"
author = "the authors of nandlab"
version = release = nandlab.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

root_doc = "index"
source_suffix = {".md": "markdown"}
# Headings are linked to as on a page of the repository.
myst_heading_anchors = 6
# Blocks of output and of drive files with placeholders are not always of their language.
suppress_warnings = ["misc.highlighting_failure"]

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
# Attributes in a docstring beside fields of the same names would be told twice.
napoleon_use_ivar = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"nandlab {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# A page is the same whenever it is built.
html_last_updated_fmt = None
