// Causes of a latency in plain words, and their colours: a request's own work in blues and greens, what
// it waited for in warm colours.

const DOES = {
  "host reads": "read for other requests",
  "host programs": "programmed other data of the host",
  "garbage collection": "moved data for garbage collection",
  "wear levelling": "moved cold data for wear levelling",
  folding: "moved data out of the cache of single-level blocks",
  erase: "erased a block",
  "erase, suspends used up": "erased a block that could not be suspended again",
  map: "read or programmed pages of the map",
  merge: "merged log blocks",
  refresh: "refreshed old data",
  patrol: "read for a patrol",
  suspend: "suspended a program or an erase",
  waits: "held data that waited for the bus, or had other commands ahead",
  "die waits": "waited for the bus or for data",
  pacing: "were closed to host data, as collection was behind",
};

const OWN = {
  "host queue": "It waited in the host's queue: the drive had no room for it.",
  controller: "A core of the controller took the command.",
  link: "Its data crossed the link to the host, or waited for it.",
  map: "A page of the map was read to find its data.",
  buffer: "The write buffer took its data.",
  program: "Its data were programmed.",
  bus: "It waited for the channel's bus, or its command crossed it.",
  "array read": "The die read its page.",
  transfer: "Its data crossed the channel's bus.",
  "decoder wait": "It waited for a decoder.",
  decode: "Its data were decoded.",
  retry: "A decode had failed: the page was read and decoded again.",
};

export function sentence(cause) {
  const [place, what] = cause.split(": ");
  if (!what) return OWN[cause] || `${cause}.`;
  const does = DOES[what] || what;
  if (place === "die") return `Its die ${does}.`;
  return `The write buffer was full while dies ${does}.`;
}

const COLOURS = [
  [/collection/, "#cc79a7"],
  [/erase/, "#d55e00"],
  [/host programs|^program/, "#0072b2"],
  [/host reads/, "#56b4e9"],
  [/level|fold|merge|refresh|patrol|pacing/, "#e69f00"],
  [/suspend/, "#f0e442"],
  [/array read/, "#009e73"],
  [/transfer|bus|link/, "#66c2a5"],
  [/decode|retry/, "#7570b3"],
  [/map/, "#a6761d"],
  [/./, "#8a949e"],
];

export function colourOfCause(cause) {
  return COLOURS.find(([pattern]) => pattern.test(cause))[1];
}
