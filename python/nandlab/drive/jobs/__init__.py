"""Jobs of a run, each by itself: their rows of the table, and rates that they missed."""
