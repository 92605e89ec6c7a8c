"""A drive as a disk: NBD clients use it over a socket until its server is stopped.

In come a drive and where its bytes are kept, out comes a result as that of a run. `serve` begins,
`server` is what is under way, `control` takes commands for it, `table` is its part of a printed
result.
"""
