// Break: what happens to a drive. Power cuts, exchanged dies, years, and what the notices say.

import { el, panel } from "../parts/dom.js";
import { clock } from "../parts/format.js";

const HELP = {
  cut: "Requests under way are lost, and what the buffer held.",
  recover: "The drive starts up, and the job goes on.",
  age: "Time passes at once for all stored data.",
  exchange: "A die's chip is replaced, and its data move.",
  wear: "Data are overwritten at random until blocks have so many more cycles; the job ends.",
  fill: "A job writes the whole drive once, in order.",
  trim: "A job trims the whole drive.",
};
const FIRST = { age: "8760", exchange: "0", wear: "500" };

export class BreakView {
  // `act(session, command)` does it, once the drive is free.
  constructor(act) {
    this.act = act;
    this.place = el("div", { class: "cards" });
    this.node = el("div", {}, this.place);
  }

  meet(sessions) {
    this.cards = sessions.map((session) => this.card(session, sessions.length > 1));
    this.place.replaceChildren(...this.cards.map((card) => card.node));
    this.place.classList.toggle("two", sessions.length > 1);
  }

  card(session, isBeside) {
    const log = el("ol", { class: "log", "aria-live": "polite", "aria-label": "What was done to the drive" });
    const acts = el("div", { class: "acts" });
    const card = { session, log, acts };
    card.node = el(
      "div",
      { class: "card" },
      panel(isBeside ? `Drive ${session.name}` : "Do it to the drive", [], acts),
      el(
        "div",
        { class: "rail" },
        panel("What the drive did", [], log),
        panel("Notices", el("span", { class: "muted", text: "what may mislead in this drive or job" }), notices(session.hello)),
      ),
    );
    this.fill(card);
    return card;
  }

  fill({ session, acts, log }) {
    acts.replaceChildren(
      ...session.hello.acts.map(({ command, form, label, refused }) => {
        const verb = command.split(" ")[0];
        const isWrong = (verb === "cut" && session.isCut) || (verb === "recover" && !session.isCut);
        const needs = /[A-Z]{2,}/.exec(form || command);
        const input = needs ? el("input", { type: "text", inputmode: "decimal", value: FIRST[verb] || "", "aria-label": `${label}: ${needs[0].toLowerCase()}` }) : null;
        const button = el("button", {
          type: "button",
          text: label,
          disabled: isWrong || Boolean(refused),
          on: { click: () => this.run(session, log, input ? `${verb} ${input.value.trim()}` : verb) },
        });
        const words = refused || HELP[verb] || "";
        return el("div", { class: "act" }, el("span", { class: "does" }, button, input, needs ? el("span", { class: "muted", text: needs[0].toLowerCase() }) : null), el("span", { class: "help", text: refused ? `Not with this drive: ${words}` : words }));
      }),
    );
  }

  async run(session, log, command) {
    const at_ns = session.state.now_ns;
    let told;
    let isRefused = false;
    try {
      told = (await this.act(session, command)).told;
    } catch (error) {
      told = error.message;
      isRefused = true;
    }
    log.prepend(el("li", { class: isRefused ? "refusal" : null }, el("span", { class: "figure", text: clock(at_ns) }), el("code", { text: command }), el("span", { text: told })));
  }

  // Acts that are refused now may be possible later, and the other way round.
  refresh(session) {
    const card = this.cards.find((one) => one.session === session);
    if (card) this.fill(card);
  }
}

function notices({ notices: list }) {
  if (!list.length) return el("p", { class: "muted", text: "None." });
  return el("ul", { class: "notices" }, list.map((one) => el("li", { text: typeof one === "string" ? one : one.text || one.message })));
}
