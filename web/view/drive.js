// Drive: every block, what the dies do, and how busy channels, decoders and the buffer are.

import { css, onTheme, scale, theme } from "../parts/colour.js";
import { canvas, choice, el, panel } from "../parts/dom.js";
import { bytes, number, percent, short, time } from "../parts/format.js";
import { cellAt, layout, paint, painted, squareOf } from "./map.js";
import { Latencies } from "./latencies.js";
import { colourOfWork } from "./work.js";

const WORDS = {
  valid: "valid share",
  state: "state",
  cycles: "P/E cycles",
  age: "age of data",
  kind: "kind of data",
  group: "zone or superblock",
};
const KEPT = 300;

export class DriveView {
  constructor() {
    this.layer = "valid";
    this.cards = [];
    this.chooser = choice(
      { id: "layer", on: { change: () => this.choose(this.chooser.value) } },
      Object.entries(WORDS).map(([value, label]) => [value, label]),
      this.layer,
    );
    this.place = el("div", { class: "cards" });
    this.node = el(
      "div",
      {},
      el("div", { class: "bar" }, el("label", { for: "layer", text: "Colour of blocks" }), this.chooser),
      this.place,
    );
    onTheme(() => this.draw());
  }

  // Layers that frames must have: the shown one, and states.
  layersOf(hello) {
    const layers = hello.sections.filter((one) => one.layer).map((one) => one.layer);
    const wanted = ["state", this.layer];
    return layers.reduce((sum, layer, at) => (wanted.includes(layer) ? sum | (1 << at) : sum), 0);
  }

  choose(layer) {
    this.layer = layer;
    for (const card of this.cards) card.session.look();
  }

  meet(sessions) {
    this.cards = sessions.map((session) => new Card(session, () => this.layer, sessions.length > 1));
    this.place.replaceChildren(...this.cards.map((card) => card.node));
    this.place.classList.toggle("two", sessions.length > 1);
  }

  sample(session) {
    for (const card of this.cards) if (card.session === session) card.sample();
  }

  draw() {
    for (const card of this.cards) card.draw();
  }
}

// One drive.
class Card {
  constructor(session, layer, isBeside) {
    this.session = session;
    this.layer = layer;
    this.samples = [];
    this.seen = new Uint32Array(256);
    this.cursor = -1;
    this.asked = 0;
    this.map = canvas(
      {
        class: "map",
        tabindex: 0,
        role: "application",
        "aria-label": "Map of blocks: arrow keys go from block to block",
        on: {
          pointermove: (event) => this.hover(cellAt(this.layout, event.offsetX, event.offsetY)),
          pointerleave: () => this.hover(-1),
          keydown: (event) => this.press(event),
        },
      },
      (context, width, height) => this.paint(context, width, height),
    );
    this.words = el("p", { class: "words", "aria-live": "polite", text: "Point at a block, or use the arrow keys." });
    this.legend = el("div", { class: "legend" });
    this.strip = canvas({ class: "strip", role: "img", "aria-label": "Work of each die over the last frames" }, (...a) =>
      this.paintStrip(...a),
    );
    this.works = el("div", { class: "legend across" });
    this.busy = el("div", { class: "busy" });
    this.latencies = new Latencies(session);
    const title = isBeside ? `Blocks of ${session.name}: ${session.hello.name}` : "Blocks";
    this.node = el(
      "div",
      { class: "card" },
      el(
        "div",
        { class: "rail" },
        panel(title, el("span", { class: "muted", text: about(session.hello) }), this.map.node, this.words),
        panel("Dies", el("span", { class: "muted", text: `what each did at the last ${KEPT} frames, the latest on the right` }), this.strip.node, this.works),
      ),
      el(
        "div",
        { class: "rail" },
        panel("Legend", [], this.legend),
        panel("Busy", el("span", { class: "muted", text: "since the last frame" }), this.busy),
        panel("Latency", el("span", { class: "muted", text: "requests of the job so far" }), this.latencies.node),
      ),
    );
    this.strip.node.style.setProperty("height", `${Math.min(Math.max(session.hello.geometry.dies * 12, 36), 160)}px`);
  }

  sample() {
    const now = this.session.frame.dies.slice();
    for (const code of now) this.seen[code] += 1;
    this.samples.push(now);
    if (this.samples.length > KEPT) for (const code of this.samples.shift()) this.seen[code] -= 1;
  }

  draw() {
    const { hello, frame } = this.session;
    const section = hello.sections.find((one) => one.layer === this.layer());
    if (!frame || !section || !frame[section.id]) return;
    this.shown = painted(hello, frame, this.layer());
    this.map.draw();
    this.strip.draw();
    this.tellLegend();
    this.tellBusy();
    this.latencies.draw();
  }

  paint(context, width, height) {
    const { hello, frame } = this.session;
    if (!this.shown) return;
    const tall = Math.min(Math.max(window.innerHeight * 0.56, 280), 640);
    this.layout = layout(hello.geometry, hello.blocks_per_cell, width, tall);
    const used = Math.ceil(this.layout.used) + 2;
    if (Math.abs(used - height) > 1) {
      // The canvas is as tall as its blocks; it draws again when it has that size.
      this.map.node.style.setProperty("height", `${used}px`);
      return;
    }
    const names = namesOf(hello.die_states);
    paint(context, this.layout, this.shown.colours, (brush, die, x, y, w) => {
      const name = names.get(frame.dies[die]) || "";
      const { head } = this.layout;
      brush.fillStyle = colourOfWork(name);
      brush.fillRect(x, y + head - (head > 10 ? 4 : 3), w, 2);
      if (head < 10 || w < 40) return;
      brush.fillStyle = theme("--muted");
      brush.font = "10.5px system-ui, sans-serif";
      brush.textBaseline = "top";
      brush.fillText(w > 110 ? `die ${die} · ${name}` : `${die}`, x, y, w);
    });
    const square = this.cursor < 0 ? null : squareOf(this.layout, this.cursor);
    if (!square) return;
    const side = Math.max(this.layout.side, 4);
    context.lineWidth = 2;
    context.strokeStyle = theme("--ink");
    context.strokeRect(square.x - 1.5, square.y - 1.5, side + 2, side + 2);
  }

  paintStrip(context, width, height) {
    const { hello } = this.session;
    const { dies } = hello.geometry;
    const row = height / dies;
    const step = width / KEPT;
    const colours = new Map(hello.die_states.map(({ code, name }) => [code, colourOfWork(name)]));
    const begun = KEPT - this.samples.length;
    for (let die = 0; die < dies; die += 1) {
      let from = 0;
      for (let i = 1; i <= this.samples.length; i += 1) {
        if (i < this.samples.length && this.samples[i][die] === this.samples[from][die]) continue;
        context.fillStyle = colours.get(this.samples[from][die]);
        context.fillRect((begun + from) * step, die * row, (i - from) * step + 0.3, Math.max(row - 1, 1));
        from = i;
      }
    }
  }

  tellLegend() {
    const { shown } = this;
    const total = shown.colours.length;
    const names = (shown.list || []).filter((one) => one.count || shown.scale).map((one) => item(one.colour, one.name, share(one.count, total)));
    if (shown.groups !== undefined) {
      this.legend.replaceChildren(el("p", { class: "muted", text: `${number(shown.groups)} zones or superblocks hold data; neighbours in number differ in colour.` }));
      return;
    }
    if (!shown.scale) {
      this.legend.replaceChildren(...names);
      return;
    }
    const show = this.layer() === "valid" ? (v) => percent(v / 255) : this.layer() === "age" ? (h) => time(h * 3.6e12) : short;
    const bar = canvas({ class: "scale", role: "img", "aria-label": `Distribution over blocks from ${show(shown.least)} to ${show(shown.most)}` }, (context, w, h) => bars(context, w, h, shown));
    const ends = this.layer() === "valid" ? [0, 255] : [shown.least, shown.most];
    this.legend.replaceChildren(
      bar.node,
      el("div", { class: "ends" }, el("span", { text: show(ends[0]) }), el("span", { text: `mean ${show(shown.mean)}` }), el("span", { text: show(ends[1]) })),
      ...names,
    );
  }

  tellBusy() {
    const { hello, frame } = this.session;
    const all = this.samples.length * frame.dies.length;
    const shown = hello.die_states.filter(({ code }) => this.seen[code]);
    this.works.replaceChildren(...shown.map(({ code, name }) => item(colourOfWork(name), name, percent(this.seen[code] / all, 2))));
    const rows = [...frame.chan].map((busy, i) => meter(`channel ${i}`, busy, percent(busy)));
    if (frame.deco.length && Number.isFinite(frame.deco[0])) rows.push(meter("decoders", frame.deco[0], percent(frame.deco[0])));
    const size = hello.config.buffer ? hello.config.buffer.bytes : 0;
    const held = this.session.scalar("buffered_bytes");
    if (size && Number.isFinite(held)) rows.push(meter("buffer", held / size, bytes(held)));
    this.busy.replaceChildren(...rows);
  }

  press(event) {
    const { columns } = this.layout || {};
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (!step) return;
    event.preventDefault();
    const cells = this.shown.colours.length;
    this.hover(Math.min(Math.max((this.cursor < 0 ? 0 : this.cursor) + step, 0), cells - 1));
  }

  async hover(cell) {
    if (cell === this.cursor) return;
    this.cursor = cell;
    this.map.draw();
    if (cell < 0) return;
    const turn = (this.asked += 1);
    let words;
    try {
      words = (await this.session.call("block", { index: cell * this.session.hello.blocks_per_cell })).told;
    } catch {
      words = this.wordsOf(cell);
    }
    if (turn === this.asked) this.words.textContent = words;
  }

  // What the frame itself says of a block, for a run that answers no questions.
  wordsOf(cell) {
    const { hello, frame } = this.session;
    const parts = [namesOf(hello.block_states).get(frame.stat[cell])];
    if (frame.vald) parts.push(`${percent(frame.vald[cell] / 255)} valid`);
    if (frame.eras) parts.push(`${number(frame.eras[cell])} P/E cycles`);
    return `Block ${number(cell * hello.blocks_per_cell, 12)}: ${parts.join(", ")}.`;
  }
}

function about({ geometry, capacity_bytes: capacity }) {
  const { dies, planes, channels, blocks_per_plane: blocks, pages_per_block: pages, page_bytes: page } = geometry;
  return `${bytes(capacity)} · ${channels} channels, ${dies} dies, ${planes} planes, ${number(blocks)} blocks of ${number(pages)} pages of ${bytes(page)}`;
}

function namesOf(list) {
  return new Map(list.map(({ code, name }) => [code, name]));
}

function share(count, total) {
  return `${number(count)} · ${percent(count / total, 2)}`;
}

function item(colour, name, figure) {
  return el(
    "div",
    { class: "item" },
    el("span", { class: "swatch", style: { "background-color": colour } }),
    el("span", { text: name }),
    el("span", { class: "figure", text: figure }),
  );
}

function meter(name, share_, figure) {
  const width = `${(Math.min(Math.max(share_, 0), 1) * 100).toFixed(1)}%`;
  return el(
    "div",
    { class: "meter" },
    el("span", { text: name }),
    el("span", { class: "track" }, el("span", { class: "fill", style: { width } })),
    el("span", { class: "figure", text: figure }),
  );
}

function bars(context, width, height, { bins, scale: name }) {
  const most = Math.max(...bins, 1);
  const colours = scale(name);
  bins.forEach((count, i) => {
    context.fillStyle = css(colours[Math.round((i / (bins.length - 1)) * 255)]);
    const tall = count ? Math.max(((height - 7) * count) / most, 1) : 0;
    const [x, w] = [(i * width) / bins.length, width / bins.length];
    context.fillRect(x, height - 7 - tall, w - 1, tall);
    context.fillRect(x, height - 5, w + 0.5, 5);
  });
}
