"""Pictures of a run: latency distribution, throughput and latency over time, a timeline.

A result goes in, a figure of matplotlib comes out; `run` is the door.
"""
