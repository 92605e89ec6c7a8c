// Latencies in the engine's buckets, each named by its upper bound.

export const PERCENTS = [50, 90, 99, 99.9];

export class Buckets {
  constructor(boundsNs) {
    this.boundsNs = boundsNs;
    this.count = boundsNs.length;
  }

  upper(bucket) {
    return this.boundsNs[Math.min(bucket, this.count - 1)];
  }

  // The first bucket has no lower bound: its width is taken to be that of the second.
  lower(bucket) {
    if (bucket > 0) return this.boundsNs[Math.min(bucket, this.count) - 1];
    return this.boundsNs[0] ** 2 / this.boundsNs[1];
  }

  of(ns) {
    const at = this.boundsNs.findIndex((bound) => ns <= bound);
    return at < 0 ? this.count - 1 : at;
  }

  // Percentiles by the share of a bucket that lies below, on a logarithmic scale; null where nothing
  // completed.
  percentiles(counts, percents = PERCENTS) {
    const total = counts.reduce((sum, n) => sum + n, 0);
    if (!total) return percents.map(() => null);
    let below = 0;
    let at = -1;
    return percents.map((percent) => {
      const rank = (total * percent) / 100;
      while (at < 0 || (below < rank && at + 1 < counts.length)) below += counts[(at += 1)];
      const share = counts[at] ? 1 - (below - rank) / counts[at] : 1;
      return this.lower(at) * (this.upper(at) / this.lower(at)) ** Math.min(Math.max(share, 0), 1);
    });
  }
}
