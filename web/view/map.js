// The map of a drive: each block a square, by die; columns are channels, below each other the dies of a
// channel, side by side in a die its planes.

import { hue, packed, scale, theme } from "../parts/colour.js";

const NONE = 4294967295;
const HEAD = 18;
const GAP = 10;
const PLANE_GAP = 2;

// Where dies, planes and blocks lie in a canvas of a size.
export function layout(geometry, perCell, width, height) {
  const { channels, dies, planes, blocks_per_plane: blocks } = geometry;
  const rows = Math.ceil(dies / channels);
  const head = height / rows > 60 ? HEAD : 4;
  const panel = { w: (width - GAP * (channels - 1)) / channels, h: (height - GAP * (rows - 1)) / rows - head };
  const cells = Math.ceil(blocks / perCell);
  const room = panel.w - PLANE_GAP * (planes - 1);
  let side = Math.min(22, Math.sqrt((room * panel.h) / (planes * cells)));
  const columnsOf = (s) => Math.max(1, Math.floor(room / planes / s + 1e-6));
  while (side > 0.25 && Math.ceil(cells / columnsOf(side)) * side > panel.h) side -= side > 4 ? 0.25 : 0.05;
  if (side >= 2) side = Math.floor(side * 2) / 2;
  let columns = Math.min(columnsOf(side), cells);
  // Rows that are all full look calmer: a little smaller or taller is no harm.
  for (let other = Math.floor(columns * 0.85); other <= columns * 1.25; other += 1) {
    const fits = Math.floor((2 * room) / planes / other) / 2;
    if (other > 0 && cells % other === 0 && fits >= 2 && (cells / other) * fits <= 1.2 * panel.h) {
      columns = other;
      side = Math.min(fits, 22);
      break;
    }
  }
  return {
    side,
    columns,
    rows: Math.ceil(cells / columns),
    head,
    used: rows * (Math.ceil(cells / columns) * side + head) + GAP * (rows - 1),
    at(plane) {
      const die = Math.floor(plane / planes);
      const channel = die % channels;
      return {
        die,
        x: channel * (panel.w + GAP) + (plane % planes) * (columns * side + PLANE_GAP),
        y: Math.floor(die / channels) * (Math.ceil(cells / columns) * side + head + GAP) + head,
      };
    },
    panel: (die) => ({
      x: (die % channels) * (panel.w + GAP),
      y: Math.floor(die / channels) * (Math.ceil(cells / columns) * side + head + GAP),
      w: Math.min(panel.w, planes * (columns * side + PLANE_GAP) - PLANE_GAP),
    }),
    planes: dies * planes,
    cellsOf: (plane) => [Math.ceil((plane * blocks) / perCell), Math.ceil(((plane + 1) * blocks) / perCell)],
  };
}

// The cell below a point; -1 where there is none.
export function cellAt(place, x, y) {
  const { columns, rows, side } = place;
  for (let plane = 0; plane < place.planes; plane += 1) {
    const from = place.at(plane);
    const [column, row] = [Math.floor((x - from.x) / side), Math.floor((y - from.y) / side)];
    if (column < 0 || row < 0 || column >= columns || row >= rows) continue;
    const [first, end] = place.cellsOf(plane);
    const cell = first + row * columns + column;
    return cell < end ? cell : -1;
  }
  return -1;
}

// Where a cell lies: the corner of its square.
export function squareOf(place, cell) {
  for (let plane = 0; plane < place.planes; plane += 1) {
    const [first, end] = place.cellsOf(plane);
    if (cell < first || cell >= end) continue;
    const from = place.at(plane);
    const at = cell - first;
    return { x: from.x + (at % place.columns) * place.side, y: from.y + Math.floor(at / place.columns) * place.side };
  }
  return null;
}

// Colours of states and kinds by what their names say; further names take the next category.
const STATES = [
  [/^bad$/, () => theme("--bad")],
  [/^erasing$/, () => "#d55e00"],
  [/^erased$/, () => theme("--empty")],
  [/^open$/, () => "#e69f00"],
  [/^full$/, () => "#0072b2"],
  [/^kept$/, () => theme("--wait")],
];
const KINDS = [
  [/^none$/, () => theme("--empty")],
  [/^before$/, () => theme("--wait")],
  [/^host$/, () => "#0072b2"],
  [/^collection$/, () => "#cc79a7"],
  [/^merge$/, () => "#e69f00"],
  [/^refresh$/, () => "#d55e00"],
  [/levelling/, () => "#8c510a"],
  [/^fold$/, () => "#009e73"],
  [/^map$/, () => "#f0e442"],
  [/^log$/, () => "#56b4e9"],
];
const SPARE = ["#56b4e9", "#009e73", "#f0e442", "#e69f00", "#d55e00"];

function named(list, rules) {
  return list.map(({ code, name }, i) => {
    const rule = rules.find(([pattern]) => pattern.test(name));
    return { code, name, colour: rule ? rule[1]() : SPARE[i % SPARE.length] };
  });
}

export const statesOf = (hello) => named(hello.block_states, STATES);
export const kindsOf = (hello) => named(hello.block_kinds, KINDS);

// Layers whose colours run over a scale: section, scale, and whether it is logarithmic.
const SCALED = {
  valid: { section: "vald", scale: "viridis" },
  cycles: { section: "eras", scale: "cividis" },
  age: { section: "bage", scale: "viridis", log: true },
};

// What a layer shows in a frame: a colour for each cell, and what a legend tells.
export function painted(hello, frame, layer) {
  const stat = frame.stat;
  const states = statesOf(hello);
  const erased = new Uint8Array(256);
  const over = new Uint32Array(256);
  for (const { code, name, colour } of states) {
    if (name === "erased") erased[code] = 1;
    if (name !== "full") over[code] = packed(colour);
  }
  if (layer === "state") return byName(stat, states);
  if (layer === "kind") return byName(frame.kind, kindsOf(hello));
  if (layer === "group") {
    const empty = packed(theme("--empty"));
    const groups = new Set();
    const colours = Uint32Array.from(frame.grou, (group, i) => {
      if (group === NONE) return empty;
      if (!(stat && erased[stat[i]])) groups.add(group);
      return stat && erased[stat[i]] ? empty : hue(group);
    });
    return { colours, groups: groups.size };
  }
  return byScale(frame[SCALED[layer].section], SCALED[layer], layer, stat, erased, over, states);
}

function byName(codes, list) {
  const table = new Uint32Array(256);
  const counts = new Uint32Array(256);
  for (const { code, colour } of list) table[code] = packed(colour);
  const colours = new Uint32Array(codes.length);
  for (let i = 0; i < codes.length; i += 1) {
    colours[i] = table[codes[i]];
    counts[codes[i]] += 1;
  }
  return { colours, list: list.map((one) => ({ ...one, count: counts[one.code] })) };
}

function byScale(values, how, layer, stat, erased, over, states) {
  let [least, most, sum, count] = [Infinity, -Infinity, 0, 0];
  for (let i = 0; i < values.length; i += 1) {
    if (values[i] < 0 || (layer !== "cycles" && stat && erased[stat[i]])) continue;
    const value = values[i];
    if (value < least) least = value;
    if (value > most) most = value;
    sum += value;
    count += 1;
  }
  if (!count) [least, most] = [0, 0];
  const full = layer === "valid" ? [0, 255] : [least, Math.max(most, least + (layer === "cycles" ? 1 : 1e-6))];
  const curve = how.log ? (v) => Math.log(v + 1e-4) : (v) => v;
  const [from, to] = full.map(curve);
  const table = scale(how.scale);
  const bins = new Float64Array(32);
  const colours = new Uint32Array(values.length);
  const shown = new Uint32Array(256);
  for (let i = 0; i < values.length; i += 1) {
    const state = stat ? stat[i] : 0;
    shown[state] += 1;
    const isOver = over[state] && (layer !== "cycles" || !erased[state]);
    const at = Math.min(Math.max((curve(Math.max(values[i], 0)) - from) / (to - from || 1), 0), 1);
    if (!(layer !== "cycles" && erased[state])) bins[Math.min(31, Math.floor(at * 32))] += 1;
    colours[i] = isOver ? over[state] : table[Math.round(at * 255)];
  }
  return {
    colours,
    scale: how.scale,
    bins,
    least,
    most,
    mean: count ? sum / count : NaN,
    list: states
      .filter(({ code }) => over[code] && (layer !== "cycles" || !erased[code]))
      .map((one) => ({ ...one, count: shown[one.code] })),
  };
}

const sheets = new WeakMap();

// Draws all blocks; heads of dies are drawn by `head(context, die, x, y, width)`.
export function paint(context, place, colours, head) {
  const { columns, rows, side } = place;
  let sheet = sheets.get(context.canvas);
  if (!sheet) sheets.set(context.canvas, (sheet = document.createElement("canvas")));
  if (sheet.width !== columns) sheet.width = columns;
  if (sheet.height !== rows * place.planes) sheet.height = rows * place.planes;
  const brush = sheet.getContext("2d");
  const image = brush.createImageData(columns, rows * place.planes);
  const pixels = new Uint32Array(image.data.buffer);
  for (let plane = 0; plane < place.planes; plane += 1) {
    const [first, end] = place.cellsOf(plane);
    pixels.set(colours.subarray(first, end), plane * rows * columns);
  }
  brush.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = side < 1;
  for (let plane = 0; plane < place.planes; plane += 1) {
    const { x, y } = place.at(plane);
    context.drawImage(sheet, 0, plane * rows, columns, rows, x, y, columns * side, rows * side);
    if (side < 5) continue;
    context.fillStyle = theme("--surface");
    for (let c = 1; c < columns; c += 1) context.fillRect(x + c * side - 1, y, 1, rows * side);
    for (let r = 1; r < rows; r += 1) context.fillRect(x, y + r * side - 1, columns * side, 1);
  }
  const dies = place.at(place.planes - 1).die + 1;
  for (let die = 0; die < dies; die += 1) {
    const { x, y, w } = place.panel(die);
    head(context, die, x, y, w);
  }
}
