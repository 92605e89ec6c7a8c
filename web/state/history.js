// What a drive did so far: scalars and latencies of each frame, at most `MOST` points. When they are
// as many, each pair becomes one, so that a run of any length is kept as a whole.

import { BUCKETS, PERCENTS, lowerNs, percentiles } from "./latency.js";

const MOST = 2048;

export class History {
  constructor(names) {
    this.names = names;
    this.clear();
  }

  clear() {
    this.points = [];
    this.version = (this.version || 0) + 1;
    this.total = { read: new Float64Array(BUCKETS), write: new Float64Array(BUCKETS) };
  }

  // A point: from the end of the last one up to `at_ns`.
  push(at_ns, scalars, read, write) {
    const last = this.points[this.points.length - 1];
    const from_ns = last ? last.at_ns : 0;
    if (at_ns <= from_ns) return;
    for (const [op, counts] of [["read", read], ["write", write]]) {
      for (let i = 0; i < BUCKETS; i += 1) if (counts[i]) this.total[op][i] += counts[i];
    }
    this.points.push(finished({ from_ns, at_ns, scalars: Float64Array.from(scalars), read, write }));
    if (this.points.length > MOST) this.merge();
    this.version += 1;
  }

  merge() {
    const merged = [];
    for (let i = 0; i + 1 < this.points.length; i += 2) merged.push(joined(this.points[i], this.points[i + 1]));
    if (this.points.length % 2) merged.push(this.points[this.points.length - 1]);
    this.points = merged;
  }

  // Forgets what came after a moment: the drive went back to it.
  back(at_ns) {
    this.points = this.points.filter((point) => point.at_ns <= at_ns);
    this.total = { read: new Float64Array(BUCKETS), write: new Float64Array(BUCKETS) };
    for (const point of this.points) {
      for (const op of ["read", "write"]) point[op].forEach((n, i) => (this.total[op][i] += n));
    }
    this.version += 1;
  }

  times() {
    return this.points.map((point) => point.at_ns / 1e9);
  }

  column(name) {
    const at = this.names.indexOf(name);
    return this.points.map((point) => (at < 0 || !Number.isFinite(point.scalars[at]) ? null : point.scalars[at]));
  }

  // The column of a percentile (by its place in `PERCENTS`) in us.
  latency(op, at) {
    return this.points.map((point) => {
      const ns = point[`${op}_ns`][at];
      return ns === null ? null : ns / 1e3;
    });
  }

  // The percentile that a latency is, among all requests so far of an operation.
  percentOf(op, ns) {
    const counts = this.total[op];
    let [below, total] = [0, 0];
    counts.forEach((n, i) => {
      total += n;
      if (lowerNs(i + 0.5) < ns) below += n;
    });
    return total ? (100 * below) / total : null;
  }
}

function finished(point) {
  for (const op of ["read", "write"]) point[`${op}_ns`] = percentiles(point[op], (i) => lowerNs(i + 1), PERCENTS);
  return point;
}

// Two points as one: scalars in the mean by their times, requests together.
function joined(a, b) {
  const [first, second] = [a.at_ns - a.from_ns, b.at_ns - b.from_ns];
  const mean = (x, y) => {
    if (!Number.isFinite(x)) return y;
    return Number.isFinite(y) ? (x * first + y * second) / (first + second) : x;
  };
  return finished({
    from_ns: a.from_ns,
    at_ns: b.at_ns,
    scalars: a.scalars.map((x, i) => mean(x, b.scalars[i])),
    read: a.read.map((n, i) => n + b.read[i]),
    write: a.write.map((n, i) => n + b.write[i]),
  });
}
