"""Commands that build a drive: `run`, `save`, `ftl`."""
