// The strip of figures above all tabs: one row for each drive, numbers with their recent course.

import { onTheme, theme } from "../parts/colour.js";
import { canvas, el } from "../parts/dom.js";
import { number, short, time } from "../parts/format.js";

const KEPT = 120;

// Tiles: title, figure, words below it.
const TILES = [
  ["Reads", (s) => s.scalar("read_mb_s"), (v) => [number(v), "MB/s"], (s) => `${short(s.scalar("read_iops"))} IOPS`],
  ["Writes", (s) => s.scalar("write_mb_s"), (v) => [number(v), "MB/s"], (s) => `${short(s.scalar("write_iops"))} IOPS`],
  ["Read p99", (s) => s.p99_ns.read, timed, () => "since the last frame"],
  ["Write p99", (s) => s.p99_ns.write, timed, () => "since the last frame"],
  ["Write amplification", (s) => s.scalar("write_amplification"), (v) => [number(v), ""], () => "so far"],
  ["Free blocks", (s) => s.scalar("free_blocks"), (v) => [number(v * 100), "%"], () => "erased"],
  ["Queue depth", (s) => s.scalar("queue_depth"), (v) => [number(v), ""], (s) => `${number(s.scalar("in_drive"))} in the drive`],
  ["Power", (s) => s.scalar("power_w"), (v) => [number(v), "W"], (s) => warmth(s)],
];

function timed(ns) {
  const [value, unit] = ns === null ? ["–", ""] : time(ns).split(" ");
  return [value, unit || ""];
}

function warmth(session) {
  const celsius = session.scalar("temperature_c");
  return Number.isFinite(celsius) ? `${number(celsius)} °C` : "flash and decoders";
}

export class Strip {
  constructor() {
    this.node = el("div", { class: "strips", "aria-label": "Figures", role: "region" });
    onTheme(() => this.rows.forEach((row) => row.tiles.forEach((tile) => tile.line.draw())));
    this.rows = [];
  }

  meet(sessions) {
    this.rows = sessions.map((session) => {
      const tiles = TILES.map(([title, value, format, below]) => {
        const values = [];
        const figure = el("span", { class: "big" });
        const unit = el("span", { class: "unit" });
        const words = el("span", { class: "muted" });
        const line = canvas({ class: "spark", "aria-hidden": "true" }, (context, width, height) => spark(context, width, height, values));
        const node = el("div", { class: "tile" }, el("span", { class: "title", text: title }), el("span", { class: "value" }, figure, unit), words, line.node);
        return { value, format, below, values, figure, unit, words, line, node };
      });
      const node = el("div", { class: "strip-row" }, sessions.length > 1 ? el("span", { class: "who", text: session.name }) : null, tiles.map((tile) => tile.node));
      return { session, tiles, node };
    });
    this.node.replaceChildren(...this.rows.map((row) => row.node));
  }

  sample(session) {
    const row = this.rows.find((one) => one.session === session);
    if (!row) return;
    for (const tile of row.tiles) {
      const value = tile.value(session);
      tile.values.push(Number.isFinite(value) ? value : null);
      if (tile.values.length > KEPT) tile.values.shift();
    }
  }

  // Figures change four times a second, so that they can be read.
  draw() {
    for (const { session, tiles } of this.rows) {
      for (const tile of tiles) {
        const value = tile.value(session);
        const [figure, unit] = tile.format(value === undefined ? NaN : value);
        tile.figure.textContent = figure;
        tile.unit.textContent = unit;
        tile.words.textContent = tile.below(session);
        tile.line.draw();
      }
    }
  }
}

function spark(context, width, height, values) {
  const known = values.filter((v) => v !== null);
  if (known.length < 2) return;
  const most = Math.max(...known);
  const least = Math.min(0, ...known);
  const x = (i) => ((KEPT - values.length + i) / (KEPT - 1)) * width;
  const y = (v) => height - 1.5 - ((v - least) / (most - least || 1)) * (height - 3);
  context.beginPath();
  let isDown = false;
  values.forEach((v, i) => {
    if (v === null) return;
    if (isDown) context.lineTo(x(i), y(v));
    else context.moveTo(x(i), y(v));
    isDown = true;
  });
  context.strokeStyle = theme("--accent");
  context.lineWidth = 1.25;
  context.stroke();
}
