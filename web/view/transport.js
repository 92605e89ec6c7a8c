// Transport: play, pause, one event, the speed, points to come back to, the end.

import { el, svg } from "../parts/dom.js";
import { clock, percent, time } from "../parts/format.js";
import { FASTEST, SLOWEST } from "../state/player.js";

const STEPS = 1000;
const PATHS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  event: "M3 2.5v11l7-5.5zM11 2.5h2v11h-2z",
  end: "M2 3v10l5-5zM7 3v10l5-5zM12.5 3H14v10h-1.5z",
  mark: "M4 2h8v12l-4-3-4 3z",
  back: "M13 13V9.5A3.5 3.5 0 0 0 9.5 6H6V3L1.5 7.5 6 12V9h3.5c.8 0 1.5.7 1.5 1.5V13z",
};

function button(name, label, act) {
  const path = svg("path", { d: PATHS[name], fill: "currentColor" });
  const node = el("button", { type: "button", class: "icon", "aria-label": label, title: label, on: { click: act } }, svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, path));
  node.set = (other, words) => {
    path.setAttribute("d", PATHS[other]);
    node.setAttribute("aria-label", words);
    node.title = words;
  };
  return node;
}

export class Transport {
  constructor(player, { mark, back, seek }) {
    this.player = player;
    this.toggle = button("play", "Play", () => (player.isPlaying ? player.pause() : player.play()));
    this.event = button("event", "One event", () => player.oneEvent());
    this.toEnd = button("end", "Run to the end", () => player.toTheEnd());
    this.mark = button("mark", "Keep this point", mark);
    this.back = button("back", "Back to the kept point", back);
    this.back.disabled = true;
    const step = (speed) => Math.round((STEPS * Math.log(speed / SLOWEST)) / Math.log(FASTEST / SLOWEST));
    this.speed = el("input", {
      type: "range",
      id: "speed",
      min: 0,
      max: STEPS,
      value: step(player.speed),
      on: {
        input: () => {
          player.speed = SLOWEST * (FASTEST / SLOWEST) ** (Number(this.speed.value) / STEPS);
          this.draw();
        },
      },
    });
    this.moment = el("input", {
      type: "range",
      id: "moment",
      min: 0,
      on: { input: () => seek(Number(this.moment.value)) },
    });
    this.asked = el("output", { class: "figure", for: "speed" });
    this.reached = el("span", { class: "muted reached" });
    this.now = el("span", { class: "clock", role: "timer", "aria-label": "Simulated time" });
    this.node = el(
      "div",
      { class: "transport", role: "toolbar", "aria-label": "Time" },
      el("span", { class: "buttons" }, this.toggle, this.event, this.toEnd, this.mark, this.back),
      this.now,
      el("span", { class: "speed", hidden: true }, el("label", { for: "moment", text: "Moment" }), this.moment),
      el("span", { class: "speed" }, el("label", { for: "speed", text: "Speed" }), this.speed, this.asked, this.reached),
    );
    document.addEventListener("keydown", (event) => this.press(event));
    player.onChange(() => this.draw());
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, button, [role=application]")) return;
    if (event.key === " ") {
      event.preventDefault();
      this.toggle.click();
    }
    if (event.key === ".") this.event.click();
  }

  draw() {
    const { player } = this;
    const [first] = player.sessions;
    if (player.isPlaying) this.toggle.set("pause", "Pause (space)");
    else this.toggle.set("play", "Play (space)");
    for (const one of [this.toggle, this.event, this.toEnd]) one.disabled = !player.canPlay;
    this.mark.disabled = !player.sessions.every((one) => one.canReturn);
    const isWatched = Boolean(first) && first.isWatched;
    for (const one of [this.event, this.toEnd, this.mark, this.back, this.speed.parentNode]) one.hidden = isWatched;
    const isRecorded = Boolean(first) && first.isRecorded;
    this.moment.parentNode.hidden = !isRecorded;
    if (isRecorded) {
      const { times } = first.link;
      this.moment.max = times.length - 1;
      this.moment.value = times.findLastIndex((at) => at <= first.state.now_ns);
      this.moment.setAttribute("aria-valuetext", clock(first.state.now_ns));
    }
    const words = `${time(player.speed, 2)} a second`;
    this.asked.textContent = words;
    this.speed.setAttribute("aria-valuetext", words);
    const isBehind = player.isPlaying && player.reached > 0 && player.reached < 0.7 * player.speed;
    this.reached.textContent = isBehind ? `reaches ${time(player.reached, 2)}` : "";
    if (!first || !first.hello) return;
    const { phase, done, of, now_ns: now } = first.state;
    this.now.textContent = phase === "precondition" ? `preparing the drive: ${of ? percent(Math.min(done / of, 1), 2) : ""}` : clock(now);
  }
}
