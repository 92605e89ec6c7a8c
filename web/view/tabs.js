// Tabs: one panel is shown; arrow keys go from tab to tab.

import { el } from "../parts/dom.js";

export class Tabs {
  // `views`: name -> {label, node}. `changed(name)` hears of the shown one.
  constructor(views, changed) {
    this.changed = changed;
    this.views = views;
    this.buttons = new Map();
    for (const [name, { label, node }] of Object.entries(views)) {
      node.id = `panel-${name}`;
      node.setAttribute("role", "tabpanel");
      node.setAttribute("aria-labelledby", `tab-${name}`);
      this.buttons.set(
        name,
        el("button", {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": `panel-${name}`,
          text: label,
          on: { click: () => this.show(name) },
        }),
      );
    }
    this.bar = el("div", { class: "tabs", role: "tablist", "aria-label": "Views", on: { keydown: (event) => this.press(event) } }, [...this.buttons.values()]);
    this.panels = el("main", {}, Object.values(views).map((view) => view.node));
  }

  show(name) {
    this.shown = name in this.views ? name : Object.keys(this.views)[0];
    for (const [other, button] of this.buttons) {
      const isShown = other === this.shown;
      button.setAttribute("aria-selected", isShown);
      button.tabIndex = isShown ? 0 : -1;
      this.views[other].node.hidden = !isShown;
    }
    this.changed(this.shown);
  }

  // Takes away the tab of what this page cannot do.
  drop(name) {
    this.buttons.get(name).remove();
    this.views[name].node.remove();
    this.buttons.delete(name);
    delete this.views[name];
    if (this.shown === name) this.show(Object.keys(this.views)[0]);
  }

  press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const names = [...this.buttons.keys()];
    const next = names[(names.indexOf(this.shown) + step + names.length) % names.length];
    this.show(next);
    this.buttons.get(next).focus();
  }
}
