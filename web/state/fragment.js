// The experiment in the page's address: drive, changed keys, job, seed, and the tab. Whoever opens the
// link gets the same drive, the same requests and the same figures.

export const FIRST = {
  drive: "tiny",
  set: { "recovery.name": "scan_pages" },
  job: [
    "[global]",
    "bs=4k",
    "size=100%",
    "runtime=20",
    "time_based",
    "",
    "[reads]",
    "rw=randread",
    "rate_iops=5000",
    "rate_process=poisson",
    "iodepth=32",
    "",
    "[writes]",
    "rw=randwrite",
    "random_distribution=zipf:1.1",
    "rate_iops=3500",
    "rate_process=poisson",
    "iodepth=32",
    "",
  ].join("\n"),
  seed: 1,
  precondition: "steady",
};

// `#drive=tiny&set.gc.name=fifo&job=...&seed=1&precondition=steady&tab=drive`; a token of a served page
// stays where it is.
export function read(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const set = {};
  for (const [key, value] of given) if (key.startsWith("set.")) set[key.slice(4)] = typed(value);
  const or = (key, other) => (given.has(key) ? given.get(key) : other);
  const isGiven = given.has("drive");
  return {
    isGiven,
    tab: given.get("tab"),
    token: given.get("token"),
    experiment: {
      drive: or("drive", FIRST.drive),
      set: isGiven ? set : FIRST.set,
      job: or("job", isGiven ? null : FIRST.job),
      seed: Number(or("seed", FIRST.seed)),
      precondition: or("precondition", isGiven ? "none" : FIRST.precondition),
      trace: traceOf(given),
    },
  };
}

// The trace that an experiment replays: what tells it from others, and how it is read. A link has no
// requests of it.
function traceOf(given) {
  if (!given.has("trace")) return null;
  const options = {};
  for (const [key, value] of given) if (key.startsWith("trace.")) options[key.slice(6)] = typed(value);
  const { bytes, hash, depth = null, ...rest } = options;
  return { name: given.get("trace"), bytes: Number(bytes), hash: String(given.get("trace.hash")), depth, options: rest };
}

export function write({ drive, set, job, seed, precondition, trace }, tab, token) {
  const parts = new URLSearchParams();
  if (token) parts.set("token", token);
  if (tab) parts.set("tab", tab);
  parts.set("drive", drive);
  for (const [key, value] of Object.entries(set)) parts.set(`set.${key}`, untyped(value));
  if (job) parts.set("job", job);
  if (trace) {
    parts.set("trace", trace.name);
    const told = { bytes: trace.bytes, hash: trace.hash, depth: trace.depth, ...trace.options };
    for (const [key, value] of Object.entries(told)) if (value !== null) parts.set(`trace.${key}`, String(value));
  }
  parts.set("seed", seed);
  parts.set("precondition", precondition);
  return `#${parts}`;
}

// A value as a drive file would read it: numbers, booleans, lists and tables are no text.
export function typed(text) {
  if (text === "true" || text === "false") return text === "true";
  if (/^\s*["[{]/.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

// The text that is read as this value. Text that would be read as something else stands in quotes.
export function untyped(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return typed(value) === value ? value : JSON.stringify(value);
}
