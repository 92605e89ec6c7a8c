// Latencies in buckets: the engine's are fine, those that are kept and drawn are 5.9 % wide.

const LEAST_NS = 100;
const PER_DECADE = 40;
const DECADES = 8;
export const BUCKETS = PER_DECADE * DECADES;
export const PERCENTS = [50, 90, 99, 99.9];

// Lower bound of a bucket in ns.
export function lowerNs(bucket) {
  return LEAST_NS * 10 ** (bucket / PER_DECADE);
}

export function bucketOf(ns) {
  const at = Math.floor(Math.log10(Math.max(ns, LEAST_NS) / LEAST_NS) * PER_DECADE + 1e-9);
  return Math.min(at, BUCKETS - 1);
}

// The kept bucket of each of the engine's, which its upper bound names.
export function regroup(boundsNs) {
  return Uint16Array.from(boundsNs, (bound, i) =>
    bucketOf(i && Number.isFinite(bound) ? Math.sqrt(Math.max(boundsNs[i - 1], 1) * bound) : bound || LEAST_NS),
  );
}

export function coarse(fine, groups) {
  const kept = new Uint32Array(BUCKETS);
  for (let i = 0; i < fine.length; i += 1) if (fine[i]) kept[groups[i]] += fine[i];
  return kept;
}

// The upper bound of the bucket in which each percentile lies, by the engine's own buckets; null
// where nothing completed.
export function percentiles(counts, upperNs, percents = PERCENTS) {
  let total = 0;
  for (let i = 0; i < counts.length; i += 1) total += counts[i];
  if (!total) return percents.map(() => null);
  const found = [];
  let below = 0;
  let at = -1;
  for (const percent of percents) {
    const rank = Math.max(1, Math.ceil((total * percent) / 100 - 1e-9));
    while (below < rank) below += counts[(at += 1)];
    found.push(upperNs(at));
  }
  return found;
}
