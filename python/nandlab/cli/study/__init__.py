"""Commands over many runs: `sweep`, `search`, `design`, `compare`."""
