// Charts over a number: uPlot in the colours of the page, with a legend that shows the numbers.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { onTheme, theme } from "./colour.js";
import { el } from "./dom.js";

const charts = new Set();
onTheme(() => charts.forEach((chart) => chart.redraw(false)));

const FONT = "11px system-ui, sans-serif";

// Ticks of a logarithmic axis: decades, and where it has few of them 2 and 5 too.
function logTicks(_, __, min, max) {
  const ticks = [];
  const steps = max / min > 300 ? [1] : [1, 2, 5];
  for (let decade = Math.floor(Math.log10(min)); 10 ** decade <= max; decade += 1) {
    for (const step of steps) ticks.push(Number((step * 10 ** decade).toPrecision(12)));
  }
  return ticks.filter((tick) => tick >= min * 0.999 && tick <= max * 1.001);
}

// A chart. `series`: {label, stroke, width, dash, fill, points}; strokes and fills are functions, so
// that they follow the theme. `x` and `y`: {format, tick, log, range, label}; `tick`
// is the format of the axis where it is another one. `bands`: uPlot's.
export function plot({ label, series, x, y, height = 150, bands, sync, hooks = {}, cursor = {} }) {
  const place = el("div", { class: "chart", role: "img", "aria-label": label });
  const axis = (side, what, size) => ({
    side,
    size,
    stroke: () => theme("--muted"),
    font: FONT,
    gap: 4,
    ticks: { show: false },
    grid: { stroke: () => theme("--grid"), width: 1 },
    ...(what.log ? { splits: logTicks, filter: (_, splits) => splits } : {}),
    values: (_, values) => values.map((v) => (v === null ? "" : (what.tick || what.format)(v))),
    space: side === 2 ? 80 : 28,
  });
  const options = {
    width: 320,
    height,
    padding: [8, 12, 0, 0],
    cursor: { points: { size: 6 }, drag: { x: true, y: false }, ...(sync ? { sync: { key: sync } } : {}), ...cursor },
    legend: { live: true },
    scales: {
      x: { time: false, ...(x.range ? { range: x.range } : {}) },
      y: { distr: y.log ? 3 : 1, log: 10, ...(y.range ? { range: y.range } : {}) },
    },
    axes: [axis(2, x, 28), axis(3, y, 62)],
    series: [
      { label: x.label, value: (_, v) => (v === null || v === undefined ? "–" : x.format(v)) },
      ...series.map((one) => ({
        width: 1.5,
        points: { show: false },
        value: (_, v) => (v === null || v === undefined ? "–" : y.format(v)),
        ...one,
      })),
    ],
    bands,
    hooks,
  };
  const chart = new uPlot(options, [[], ...series.map(() => [])], place);
  charts.add(chart);
  const fit = () => {
    const width = Math.floor(place.clientWidth);
    if (width && width !== chart.width) chart.setSize({ width, height });
  };
  new ResizeObserver(fit).observe(place);
  return {
    node: place,
    chart,
    // New data; a zoom stays.
    set(data, zoomed) {
      fit();
      chart.setData(data, !zoomed);
      if (zoomed) chart.redraw(true);
    },
    tell: (words) => place.setAttribute("aria-label", `${label}: ${words}`),
  };
}
