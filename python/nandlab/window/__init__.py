"""The window: pages that show a drive, served, in one file, or in a notebook.

In come a session of the engine (`Window`) or a run under way, and the files of the page in `web/`;
out come a server on this machine, an HTML file, or a widget. docs/window.md has the session.
"""
