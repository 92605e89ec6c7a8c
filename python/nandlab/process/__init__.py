"""The process that nandlab runs in: its interruption by signals, its memory, its processors.

In come signals and the limits of the machine; out come a request to stop and bytes.
"""
