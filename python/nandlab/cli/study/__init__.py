"""Commands over many runs: `sweep`, `search`, `compare`."""
