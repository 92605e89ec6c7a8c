// Time: what the drive did since its job began, from throughput to temperature, and latencies as bands.

import { scale, theme } from "../parts/colour.js";
import { choice, el, panel } from "../parts/dom.js";
import { number, percent, quantity, time } from "../parts/format.js";
import { plot } from "../parts/plot.js";
import { PERCENTS } from "../state/latency.js";

const SYNC = "time";
const seconds = (s) => time(s * 1e9, 4);
const us = (v) => time(v * 1e3);

// Charts of scalars: title, unit, and their lines (scalar, label, colour).
const CHARTS = [
  ["Throughput", "MB/s", [["read_mb_s", "reads", "--read"], ["write_mb_s", "writes", "--write"]]],
  [
    "Write amplification",
    "",
    [["write_amplification_now", "since the last frame", "--faint"], ["write_amplification", "so far", "--accent"]],
  ],
  ["Free blocks", "%", [["free_blocks", "erased", "--accent"]]],
  ["Queue depth", "", [["in_drive", "in the drive", "--faint"], ["queue_depth", "under way", "--accent"]]],
  ["Data moved by collection and other internal work", "MB/s", [["gc_moved_mb_s", "moved", "--collect"]]],
  ["Write buffer", "%", [["buffer_share", "taken", "--accent"]]],
  ["Power", "W", [["power_w", "drive", "--accent"]]],
  ["Temperature", "°C", [["temperature_c", "drive", "--hot"]]],
];

// Figures that some drives do not have.
const MAY_LACK = ["temperature_c", "buffer_share"];

export class TimeView {
  // `why(session, op, percentile)` opens the request at a percentile.
  constructor(why) {
    this.why = why;
    this.op = "read";
    this.zoom = null;
    this.place = el("div", { class: "charts" });
    this.chooser = choice(
      { id: "op", on: { change: () => ((this.op = this.chooser.value), this.draw(true)) } },
      [["read", "reads"], ["write", "writes"]],
      this.op,
    );
    const button = (text, act) => el("button", { type: "button", text, on: { click: act } });
    this.node = el(
      "div",
      {},
      el(
        "div",
        { class: "bar" },
        el("label", { for: "op", text: "Latency of" }),
        this.chooser,
        button("Whole run", () => this.zoomTo(null)),
        button("Last tenth", () => this.zoomTo("tail")),
        el("span", { class: "muted", text: "Drag over a chart to zoom; click the heat map to ask why." }),
      ),
      this.place,
    );
  }

  meet(sessions) {
    this.sessions = sessions;
    this.charts = [];
    this.zoom = null;
    const isTwo = sessions.length > 1;
    const panels = [];
    for (const session of sessions) {
      const of = isTwo ? ` of ${session.name}` : "";
      panels.push(this.add(session, `Latency${of}`, bandsOf(this, `Latency${of}`)));
      panels.push(this.add(session, `Heat map of latency${of}`, heatOf(this, session, `Heat map of latency${of}`)));
    }
    for (const [title, unit, lines] of CHARTS) {
      const shown = lines.filter(([name]) => sessions[0].hello.scalars.some((one) => one.name === name));
      if (shown.length && shown.some(([name]) => sessions.some((one) => Number.isFinite(one.scalar(name)) || !MAY_LACK.includes(name)))) panels.push(this.add(null, unit ? `${title} (${unit})` : title, linesOf(this, title, unit, shown)));
    }
    this.place.replaceChildren(...panels);
  }

  add(session, title, chart) {
    chart.beside = el("span", { class: "figure" });
    chart.session = session;
    this.charts.push(chart);
    chart.panel = panel(title, chart.beside, chart.node);
    return chart.panel;
  }

  hooks() {
    return {
      setSelect: [
        (chart) => {
          const { left, width } = chart.select;
          if (width < 4) return;
          this.zoom = [chart.posToVal(left, "x"), chart.posToVal(left + width, "x")];
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          this.draw(true);
        },
      ],
    };
  }

  range() {
    const points = this.sessions[0].history.points;
    const end = Math.max(...this.sessions.map((one) => one.state.now_ns)) / 1e9 || 1e-3;
    if (Array.isArray(this.zoom)) return this.zoom;
    if (this.zoom === "tail") return [end * 0.9, end];
    return [points.length ? points[0].from_ns / 1e9 : 0, end];
  }

  zoomTo(what) {
    this.zoom = what;
    this.draw(true);
  }

  draw() {
    for (const chart of this.charts) chart.refresh(chart);
  }
}

const x = (view) => ({ format: seconds, label: "time", range: () => view.range() });

// Lines of scalars, of one or both drives.
function linesOf(view, title, unit, lines) {
  const format = unit === "%" ? (v) => percent(v) : (v) => (unit ? `${number(v)} ${unit}` : number(v));
  const all = view.sessions.flatMap((session, i) => lines.map((line) => [session, i, line]));
  const chart = plot({
    label: title,
    sync: SYNC,
    hooks: view.hooks(),
    x: x(view),
    // The title has the unit of the axis.
    y: { format, tick: unit === "%" ? format : number, range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] },
    series: all.map(([session, i, [, label, colour]]) => ({
      label: view.sessions.length > 1 ? `${session.name}: ${label}` : label,
      stroke: () => theme(colour),
      dash: i ? [5, 4] : undefined,
      spanGaps: true,
    })),
  });
  chart.refresh = () => {
    chart.set(joinedTimes(all.map(([session, , [name]]) => [session.history, session.history.column(name)])), true);
    const who = (session) => (view.sessions.length > 1 ? `${session.name}: ` : "");
    const latest = all.map(([session, , [name, label]]) => `${who(session)}${label} ${format(session.scalar(name))}`);
    chart.beside.textContent = latest.join(" · ");
    chart.tell(latest.join(", "));
  };
  return chart;
}

// Columns of histories whose points lie at other times, over all of these times.
function joinedTimes(columns) {
  const histories = new Set(columns.map(([history]) => history));
  if (histories.size < 2) return [columns[0][0].times(), ...columns.map(([, values]) => values)];
  const times = [...new Set([...histories].flatMap((one) => one.times()))].sort((a, b) => a - b);
  const place = new Map(times.map((t, i) => [t, i]));
  return [
    times,
    ...columns.map(([history, values]) => {
      const wide = new Array(times.length).fill(undefined);
      history.times().forEach((t, i) => (wide[place.get(t)] = values[i]));
      return wide;
    }),
  ];
}

// Percentiles as bands: from the median to p90, to p99, to p99.9.
function bandsOf(view, title) {
  const alpha = (share) => () => `color-mix(in srgb, ${theme("--accent")} ${share}%, transparent)`;
  const chart = plot({
    label: title,
    sync: SYNC,
    hooks: view.hooks(),
    height: 190,
    x: x(view),
    y: { format: us, log: true, range: (_, low, high) => decadesAround(low, high) },
    series: PERCENTS.map((percentile, i) => ({
      label: `p${percentile}`,
      stroke: () => theme(i === 0 ? "--ink" : "--accent"),
      width: i === 0 ? 1.75 : 1,
      spanGaps: true,
    })),
    bands: [
      { series: [2, 1], fill: alpha(42) },
      { series: [3, 2], fill: alpha(24) },
      { series: [4, 3], fill: alpha(12) },
    ],
  });
  chart.refresh = ({ session }) => {
    const { history } = session;
    chart.set([history.times(), ...PERCENTS.map((_, i) => history.latency(view.op, i))], true);
    const last = history.points[history.points.length - 1];
    const words = last ? PERCENTS.map((p, i) => `p${p} ${time(last[`${view.op}_ns`][i])}`) : ["nothing yet"];
    chart.beside.textContent = words.join(" · ");
    chart.tell(words.join(", "));
  };
  return chart;
}

function decadesAround(low, high) {
  if (!(low > 0) || !(high > 0)) return [1, 1000];
  return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high * 1.01))];
}

// Requests by time and latency. A click asks for the request at the percentile of that latency.
function heatOf(view, session, title) {
  const sheet = document.createElement("canvas");
  const chart = plot({
    label: title,
    sync: SYNC,
    height: 190,
    hooks: {
      ...view.hooks(),
      drawClear: [(u) => drawHeat(u, sheet, session.history, view.op)],
      ready: [
        (u) => {
          let from = 0;
          u.over.addEventListener("pointerdown", (event) => (from = event.clientX));
          u.over.addEventListener("click", (event) => {
            if (Math.abs(event.clientX - from) > 3) return;
            const ns = u.posToVal(event.offsetY, "y") * 1e3;
            const percentile = session.history.percentOf(view.op, ns);
            if (percentile !== null) view.why(session, view.op, Math.min(percentile, 100));
          });
        },
      ],
    },
    x: x(view),
    y: { format: us, log: true, range: () => heatRange(session.history, view.op) },
    series: [{ label: "p99", stroke: () => theme("--ink"), width: 1, spanGaps: true }],
  });
  chart.refresh = () => {
    chart.set([session.history.times(), session.history.latency(view.op, 2)], true);
    const total = session.history.total[view.op].reduce((sum, n) => sum + n, 0);
    chart.beside.textContent = `${quantity(total, "")} requests`;
    chart.tell(chart.beside.textContent);
  };
  return chart;
}

function heatRange(history, op) {
  const total = history.total[op];
  const { buckets } = history;
  let [low, high] = [0, buckets.count - 1];
  while (low < high && !total[low]) low += 1;
  while (high > low && !total[high]) high -= 1;
  if (low === high && !total[low]) return [1, 1000];
  return [buckets.lower(low) / 1e3, buckets.upper(high) / 1e3];
}

function drawHeat(u, sheet, history, op) {
  const { left, top, width, height } = u.bbox;
  const [first, last] = [u.scales.x.min, u.scales.x.max];
  const { points } = history;
  if (!points.length || !(last > first) || width < 1) return;
  const { buckets } = history;
  const { min, max } = u.scales.y;
  const [low, high] = [buckets.of(min * 1e3 * 1.01), buckets.of(max * 1e3 * 0.99) + 1];
  const rows = Math.max(high - low, 1);
  const columns = Math.max(Math.floor(width), 1);
  if (sheet.width !== columns) sheet.width = columns;
  if (sheet.height !== rows) sheet.height = rows;
  const brush = sheet.getContext("2d");
  const image = brush.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = scale("viridis");
  let at = 0;
  for (let column = 0; column < columns; column += 1) {
    const begin = (first + ((last - first) * column) / columns) * 1e9;
    const end = (first + ((last - first) * (column + 1)) / columns) * 1e9;
    while (at < points.length && points[at].at_ns <= begin) at += 1;
    if (at >= points.length) break;
    // Of several points in a pixel all count.
    const sums = new Float64Array(rows);
    let span = 0;
    for (let i = at; i < points.length && (i === at || points[i].from_ns < end); i += 1) {
      const counts = points[i][op];
      for (let row = 0; row < rows; row += 1) sums[row] += counts[low + row];
      span += points[i].at_ns - points[i].from_ns;
    }
    let most = 0;
    for (let row = 0; row < rows; row += 1) most = Math.max(most, sums[row]);
    if (!most || !span || points[at].from_ns > end) continue;
    const full = Math.log1p(most);
    for (let row = 0; row < rows; row += 1) {
      if (!sums[row]) continue;
      pixels[(rows - 1 - row) * columns + column] = colours[Math.round((0.08 + (0.92 * Math.log1p(sums[row])) / full) * 255)];
    }
  }
  brush.putImageData(image, 0, 0);
  u.ctx.save();
  u.ctx.imageSmoothingEnabled = false;
  u.ctx.drawImage(sheet, left, top, width, height);
  u.ctx.restore();
}
