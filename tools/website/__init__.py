"""Site of the documentation, a folder of pages that any web server or browser shows offline.

In come the Markdown files of the repository, as they are, and the docstrings of the package; out
comes `build/site`. `stage` lays the pages out for Sphinx, `api` makes the pages of the package,
`conf` is Sphinx's configuration. Warnings of Sphinx, links without a target among them, are errors.
"""
