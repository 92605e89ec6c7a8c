// Why: one request's latency as a waterfall of what it waited for, its die's timeline around it, and the
// slowest requests to choose from.

import { choice, el, panel, svg, table } from "../parts/dom.js";
import { bytes, clock, number, percent, time } from "../parts/format.js";
import { colourOfCause, sentence } from "./causes.js";
import { colourOfWork } from "./work.js";

const PERCENTILES = [50, 90, 99, 99.9, 99.99, 100];

export class WhyView {
  constructor() {
    this.op = choice({ id: "why-op" }, [["read", "reads"], ["write", "writes"]], "read");
    this.among = choice({ id: "why-among" }, [["recent", "the latest 4,096"], ["all", "the slowest of the job"]], "recent");
    this.asked = PERCENTILES.map((percentile) =>
      el("button", {
        type: "button",
        text: percentile === 100 ? "slowest" : `p${percentile}`,
        on: { click: () => this.ask(this.session, { percentile }) },
      }),
    );
    this.status = el("p", { class: "words", role: "status", text: "Choose a percentile: the request there is taken apart." });
    this.found = el("div", { class: "why" });
    this.list = el("div", {});
    this.node = el(
      "div",
      {},
      el(
        "div",
        { class: "bar" },
        el("label", { for: "why-op", text: "Why did" }),
        this.op,
        el("label", { for: "why-among", text: "among" }),
        this.among,
        el("span", { text: "take so long?" }),
        el("span", { class: "group" }, this.asked),
      ),
      this.status,
      this.found,
      panel("Slowest requests", el("span", { class: "muted", text: "of the job so far" }), this.list),
    );
  }

  meet(sessions) {
    this.sessions = sessions;
    this.session = sessions[0];
    this.found.replaceChildren();
    this.listed = null;
  }

  // The request at a percentile of an operation.
  show(session, op, percentile) {
    this.op.value = op;
    this.among.value = "recent";
    return this.ask(session, { percentile });
  }

  async ask(session, what) {
    this.session = session;
    const params = what.token === undefined ? { op: this.op.value, percentile: what.percentile } : what;
    if (what.token === undefined && this.among.value === "all") params.among = "all";
    try {
      const request = await session.call("slow", params);
      this.status.textContent = told(request, what.percentile);
      this.found.replaceChildren(...this.parts(request));
    } catch (error) {
      this.status.textContent = error.message;
    }
    await this.draw();
  }

  parts(request) {
    return [
      panel("What it waited for", el("span", { class: "figure", text: time(request.latency_ns) }), waterfall(request), partsTable(request)),
      panel(
        "Its die around it",
        el("span", { class: "muted", text: "the request between the lines" }),
        timeline(request, this.session.hello),
      ),
    ];
  }

  // The list of slow requests, at most twice a second.
  async draw() {
    const { completed } = this.session.state;
    if (this.listed === completed || performance.now() - (this.listedAt || 0) < 500) return;
    this.listed = completed;
    this.listedAt = performance.now();
    let rows = [];
    try {
      rows = await this.session.call("slowest", { count: 20, among: "all" });
    } catch {
      rows = [];
    }
    this.list.replaceChildren(
      rows.length
        ? table(
            "Slowest requests of the job so far",
            ["Request", "Latency", "Arrived", "Offset", "Size", "Die"],
            rows.map((one) => [
              el("button", { type: "button", class: "link", text: `${one.op} ${one.token}`, on: { click: () => this.ask(this.session, { token: one.token }) } }),
              time(one.latency_ns),
              clock(one.arrival_ns),
              number(one.offset, 15),
              bytes(one.bytes),
              one.die === null ? "–" : String(one.die),
            ]),
          )
        : el("p", { class: "muted", text: "No request yet." }),
    );
  }
}

function told(request, percentile) {
  const { op, latency_ns: latency, arrival_ns: arrival, bytes: size, die, parts } = request;
  const which = percentile === undefined ? "This" : percentile === 100 ? "The slowest" : `At p${number(percentile, 5)}, this`;
  const most = parts.reduce((a, b) => (b.ns > a.ns ? b : a), parts[0]);
  const place = die === null ? "" : ` on die ${die}`;
  const why = most ? ` ${percent(most.ns / latency, 2)} of that: ${lower(sentence(most.cause))}` : "";
  return `${which} ${op} of ${bytes(size)}${place} came at ${clock(arrival)} and took ${time(latency)}.${why}`;
}

const lower = (text) => text[0].toLowerCase() + text.slice(1);

// Bars one below the other, each begins where the last one ended.
function waterfall(request) {
  const { parts, latency_ns: latency } = request;
  let from = 0;
  const rows = parts.map(({ cause, ns }) => {
    const left = (100 * from) / latency;
    from += ns;
    return el(
      "div",
      { class: "fall", role: "listitem", title: sentence(cause) },
      el("span", { class: "name", text: cause }),
      el(
        "span",
        { class: "track" },
        el("span", {
          class: "fill",
          style: { left: `${left}%`, width: `max(${(100 * ns) / latency}%, 2px)`, "background-color": colourOfCause(cause) },
        }),
      ),
      el("span", { class: "figure", text: time(ns) }),
    );
  });
  return el("div", { class: "waterfall", role: "list", "aria-label": "Waterfall of the request's parts" }, rows);
}

function partsTable({ parts, latency_ns: latency }) {
  const rows = parts.map(({ cause, ns }) => [sentence(cause), time(ns, 4), percent(ns / latency)]);
  const sum = parts.reduce((all, { ns }) => all + ns, 0);
  return table("Parts of the latency", ["What happened", "Time", "Share"], [...rows, ["Latency", time(sum, 4), percent(sum / latency)]]);
}

// Spans of the request's die, channel and decoders, a row each.
function timeline(request, { tracks, span_names: kindNames }) {
  const { arrival_ns: arrival, completion_ns: end } = request;
  const spans = (request.spans || [])
    .map((one) => ({ ...one, track: tracks[one.track], kind: kindNames[one.kind] }))
    .filter(({ track }) => track !== "host");
  if (!spans.length) return el("p", { class: "muted", text: "The drive no longer knows what its dies did then: ask for a request among the latest." });
  const rows = [...new Set(spans.map(({ track, index }) => `${track} ${index}`))].sort();
  const margin = (end - arrival) / 4;
  const [from, to] = [arrival - margin, end + margin];
  const [width, tall, label, top] = [1000, 26, 96, 20];
  const x = (ns) => label + ((ns - from) / (to - from || 1)) * (width - label);
  const height = top + rows.length * tall;
  const kinds = [...new Set(spans.map((one) => one.kind))];
  const bars = spans.map(({ track, index, kind, start_ns: start, end_ns: stop }) =>
    svg(
      "rect",
      {
        x: x(Math.max(start, from)),
        y: top + rows.indexOf(`${track} ${index}`) * tall + 4,
        width: Math.max(x(Math.min(stop, to)) - x(Math.max(start, from)), 1),
        height: tall - 8,
        fill: colourOfWork(kind),
      },
      svg("title", { text: `${track} ${index}: ${kind}, ${time(stop - start)} from ${clock(start)}` }),
    ),
  );
  const names = rows.map((name, i) => svg("text", { x: 0, y: top + i * tall + tall / 2 + 4, class: "label", "font-size": 13, text: name }));
  const edges = [arrival, end].map((ns, i) => [
    svg("line", { x1: x(ns), x2: x(ns), y1: top - 4, y2: height, class: "edge" }),
    svg("text", { x: x(ns), y: top - 8, class: "label", "font-size": 12, "text-anchor": i ? "end" : "start", text: i ? "completed" : "arrived" }),
  ]);
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "timeline", role: "img", "aria-label": `Timeline over ${time(to - from)}: ${kinds.join(", ")}` },
    svg("rect", { x: x(arrival), y: top - 4, width: Math.max(x(end) - x(arrival), 1), height: height - top + 4, class: "during" }),
    names,
    bars,
    edges.flat(),
  );
  const sums = kinds.map((kind) => {
    const ns = spans.filter((one) => one.kind === kind).reduce((all, one) => all + one.end_ns - one.start_ns, 0);
    return el(
      "div",
      { class: "item" },
      el("span", { class: "swatch", style: { "background-color": colourOfWork(kind) } }),
      el("span", { text: kind }),
      el("span", { class: "figure", text: time(ns) }),
    );
  });
  return el("div", {}, el("div", { class: "wide" }, picture), el("div", { class: "legend across" }, sums));
}
