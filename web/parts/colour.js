// Colours: scales that the colour-blind can read, and those of the page's theme.

// Anchors of viridis and cividis (matplotlib, CC0), evenly spaced.
const SCALES = {
  viridis:
    "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725",
  cividis:
    "00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 fee838",
};

// Okabe and Ito's categories, without black.
export const CATEGORIES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];

function parts(hex) {
  const value = parseInt(hex.replace("#", ""), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// A colour as ImageData holds it on a little-endian machine: 0xAABBGGRR.
export function packed(hex) {
  const [r, g, b] = parts(hex);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function css(value) {
  const two = (byte) => byte.toString(16).padStart(2, "0");
  return `#${two(value & 255)}${two((value >> 8) & 255)}${two((value >> 16) & 255)}`;
}

const tables = new Map();

// 256 packed colours of a scale.
export function scale(name) {
  if (!tables.has(name)) {
    const anchors = SCALES[name].split(" ").map(parts);
    const table = Uint32Array.from({ length: 256 }, (_, i) => {
      const at = (i / 255) * (anchors.length - 1);
      const low = Math.min(Math.floor(at), anchors.length - 2);
      const mix = anchors[low].map((from, k) => Math.round(from + (anchors[low + 1][k] - from) * (at - low)));
      return ((255 << 24) | (mix[2] << 16) | (mix[1] << 8) | mix[0]) >>> 0;
    });
    tables.set(name, table);
  }
  return tables.get(name);
}

// Colours of groups without an order: neighbours in number lie far apart in hue.
export function hue(number) {
  const turn = (number * 0.61803398875) % 1;
  const channel = (shift) => {
    const k = (shift + turn * 12) % 12;
    const light = 0.42 + 0.16 * ((number * 0.7548776662) % 1);
    return Math.round(255 * (light - 0.22 * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return ((255 << 24) | (channel(4) << 16) | (channel(8) << 8) | channel(0)) >>> 0;
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let named = new Map();
const watchers = new Set();

dark.addEventListener("change", () => {
  named = new Map();
  for (const act of watchers) act();
});

// The value of a colour of the theme, as `--accent`.
export function theme(name) {
  if (!named.has(name)) {
    named.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  }
  return named.get(name);
}

export function onTheme(act) {
  watchers.add(act);
}
