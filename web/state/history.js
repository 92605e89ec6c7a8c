// What a drive did so far: scalars and latencies of each frame, at most `MOST` points. When they are
// as many, each pair becomes one, so that a run of any length is kept as a whole.

const MOST = 2048;

// Scalars since the last frame of which two points have the sum, or the larger one.
const SUMS = new Set(["nand_reads", "nand_programs", "nand_erases", "retries", "soft_reads"]);
const LARGEST = new Set(["latency_max_us"]);

export class History {
  constructor(names, buckets) {
    this.names = names;
    this.buckets = buckets;
    this.clear();
  }

  clear() {
    this.begin_ns = 0;
    this.points = [];
    this.version = (this.version || 0) + 1;
    // The last bucket holds what lies above all bounds.
    this.total = { read: new Float64Array(this.buckets.count + 1), write: new Float64Array(this.buckets.count + 1) };
  }

  // A point: from the end of the last one up to `at_ns`.
  push(at_ns, scalars, read, write) {
    const last = this.points[this.points.length - 1];
    const from_ns = last ? last.at_ns : this.begin_ns;
    // A frame is the link's own: what is kept of it is a copy.
    const point = { from_ns, at_ns, scalars: scalars.slice(), read: read.slice(), write: write.slice() };
    if (at_ns > from_ns) this.points.push(this.finished(point));
    // A frame of the same moment, as after an act: what it counts belongs to the point there.
    else if (last) this.points[this.points.length - 1] = this.joined(last, point);
    else return;
    this.add(point);
    if (this.points.length > MOST) this.merge();
    this.version += 1;
  }

  merge() {
    const merged = [];
    for (let i = 0; i + 1 < this.points.length; i += 2) merged.push(this.joined(this.points[i], this.points[i + 1]));
    if (this.points.length % 2) merged.push(this.points[this.points.length - 1]);
    this.points = merged;
  }

  add(point) {
    for (const op of ["read", "write"]) point[op].forEach((n, i) => (this.total[op][i] += n));
  }

  finished(point) {
    for (const op of ["read", "write"]) point[`${op}_ns`] = this.buckets.percentiles(point[op]);
    return point;
  }

  // Two points as one: counts of scalars and requests together, other scalars in the mean by their times.
  joined(a, b) {
    const [first, second] = [a.at_ns - a.from_ns, b.at_ns - b.from_ns];
    const both = (x, y, name) => {
      if (!Number.isFinite(x)) return y;
      if (!Number.isFinite(y)) return x;
      if (SUMS.has(name)) return x + y;
      return LARGEST.has(name) ? Math.max(x, y) : (x * first + y * second) / (first + second);
    };
    return this.finished({
      from_ns: a.from_ns,
      at_ns: b.at_ns,
      scalars: a.scalars.map((x, i) => both(x, b.scalars[i], this.names[i])),
      read: a.read.map((n, i) => n + b.read[i]),
      write: a.write.map((n, i) => n + b.write[i]),
    });
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
      if (this.buckets.upper(i) < ns) below += n;
    });
    return total ? (100 * below) / total : null;
  }
}
