// Elements of the page, made without strings of HTML.

const SVG = "http://www.w3.org/2000/svg";

// An element. `props`: class, text, style (by names of CSS), data, on (events); others are attributes.
export function el(name, props = {}, ...children) {
  return dress(document.createElement(name), props, children);
}

export function svg(name, props = {}, ...children) {
  return dress(document.createElementNS(SVG, name), props, children);
}

function dress(node, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.setAttribute("class", value);
    else if (key === "text") node.textContent = value;
    else if (key === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// A select with options [value, label].
export function choice(props, options, chosen) {
  const select = el("select", props, options.map(([value, label]) => el("option", { value, text: label })));
  if (chosen !== undefined) select.value = chosen;
  return select;
}

let fields = 0;

// A label above a control, with what it means and room for a refusal below.
export function field(label, control, help) {
  const id = control.id || `field-${(fields += 1)}`;
  control.id = id;
  const about = el("span", { class: "help", id: `${id}-help`, text: help || "" });
  const refusal = el("span", { class: "refusal", id: `${id}-refusal`, role: "alert" });
  control.setAttribute("aria-describedby", `${id}-help ${id}-refusal`);
  const node = el("div", { class: "field" }, el("label", { for: id, text: label }), control, about, refusal);
  return {
    node,
    control,
    explain: (text) => (about.textContent = text),
    refuse(text) {
      refusal.textContent = text || "";
      if (text) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    },
  };
}

// A panel with a heading, and words or controls beside it.
export function panel(title, beside, ...children) {
  const head = el("header", {}, el("h2", { text: title }), ...[beside].flat());
  return el("section", { class: "panel", "aria-label": title }, head, ...children);
}

// A table: heads, and rows of cells (text or nodes). All but the first column are right-aligned.
export function table(caption, heads, rows) {
  const cell = (kind) => (value, at) =>
    el(kind, { class: at ? "number" : null, scope: kind === "th" ? "col" : null }, value ?? "");
  return el(
    "table",
    {},
    el("caption", { class: "unseen", text: caption }),
    el("thead", {}, el("tr", {}, heads.map(cell("th")))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell("td"))))),
  );
}

// A canvas as large as its place, in pixels of the screen. `paint(context, width, height)` draws in
// CSS pixels, again whenever the size changes.
export function canvas(props, paint) {
  const node = el("canvas", props);
  const draw = () => {
    const { clientWidth: width, clientHeight: height } = node;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (node.width !== w) node.width = w;
    if (node.height !== h) node.height = h;
    const context = node.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    paint(context, width, height, ratio);
  };
  new ResizeObserver(draw).observe(node);
  return { node, draw };
}
