// The keys of a drive that matter most, and what its JSON Schema says of each.

// Groups of keys; `only` is the FTL (or the like) that has the key.
export const KEYS = [
  ["Geometry", ["drive.channels", "drive.dies_per_channel", "chip.geometry.planes_per_die", "chip.geometry.blocks_per_plane", "chip.geometry.pages_per_block", "chip.geometry.page_bytes"]],
  ["Translation and collection", ["ftl.name", "ftl.overprovisioning", "gc.name", "gc.start_free_blocks", "buffer.bytes"]],
  ["Errors and age", ["retry.name", "ecc.code", "age.pe_cycles", "age.retention_hours", "age.temperature_c"]],
  ["Commands", ["drive.queue_depth", "scheduler.name", "scheduler.suspend", "recovery.name"]],
];

// Labels in the field's terms.
export const LABELS = {
  "drive.channels": "Channels",
  "drive.dies_per_channel": "Dies per channel",
  "chip.geometry.planes_per_die": "Planes per die",
  "chip.geometry.blocks_per_plane": "Blocks per plane",
  "chip.geometry.pages_per_block": "Pages per block",
  "chip.geometry.page_bytes": "Page size",
  "ftl.name": "FTL",
  "ftl.overprovisioning": "Overprovisioning",
  "gc.name": "Victims of collection",
  "gc.start_free_blocks": "Collection starts at free blocks",
  "buffer.bytes": "Write buffer",
  "retry.name": "Read retry",
  "ecc.code": "Code",
  "age.pe_cycles": "P/E cycles",
  "age.retention_hours": "Retention (hours)",
  "age.temperature_c": "Temperature (°C)",
  "drive.queue_depth": "Queue depth of the drive",
  "scheduler.name": "Scheduler",
  "scheduler.suspend": "Reads suspend programs and erases",
  "recovery.name": "Recovery after a power cut",
};

function resolved(schema, node) {
  let at = node;
  while (at && at.$ref) at = schema.$defs[at.$ref.split("/").pop()];
  return at;
}

// All schemas that a path can mean: a family has one for each of its members.
function meanings(schema, path) {
  let nodes = [schema];
  for (const part of path.split(".")) {
    nodes = nodes
      .map((node) => resolved(schema, node))
      .flatMap((node) => (node.anyOf || node.oneOf || [node]).map((one) => resolved(schema, one)))
      .map((node) => node.properties && node.properties[part])
      .filter(Boolean);
  }
  return nodes.map((node) => ({ ...resolved(schema, node), ...node }));
}

// What a key is: its description, its choices (names of a family with their summaries), its type.
export function facts(schema, path) {
  const found = meanings(schema, path);
  const first = found.find((one) => one.description) || found[0] || {};
  const types = new Set(found.flatMap((one) => one.type || []));
  return {
    description: (first.description || "").replace(/\s+/g, " "),
    choices: path.endsWith(".name") ? members(schema, path.slice(0, -5)) : null,
    isBoolean: types.has("boolean"),
    isNumber: types.has("integer") || types.has("number"),
  };
}

function members(schema, family) {
  return meanings(schema, family)
    .flatMap((node) => node.anyOf || node.oneOf || [])
    .map((node) => resolved(schema, node))
    .filter((node) => node.properties && node.properties.name && node.properties.name.const)
    .map((node) => [node.properties.name.const, (node.description || "").replace(/\s+/g, " ")]);
}

// Assignments that turn one configuration into another.
export function differences(from, to, path = "") {
  const set = {};
  for (const [key, value] of Object.entries(to)) {
    const at = path ? `${path}.${key}` : key;
    const before = from ? from[key] : undefined;
    if (value !== null && typeof value === "object" && !Array.isArray(value)) Object.assign(set, differences(before, value, at));
    else if (JSON.stringify(before) !== JSON.stringify(value) && value !== null) set[at] = value;
  }
  return set;
}

// The value of a path in a configuration.
export function valueAt(config, path) {
  return path.split(".").reduce((at, part) => (at === null || at === undefined ? undefined : at[part]), config);
}
