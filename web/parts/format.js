// Numbers in words: three digits and a unit.

const DASH = "–";

// Three significant digits, thousands apart: 1,234 · 12.3 · 0.0123.
export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(digits - 1).replace("e+", "e");
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toLocaleString("en-US", { minimumFractionDigits: 0, maximumFractionDigits: places });
}

function scaled(value, units, digits) {
  if (!Number.isFinite(value)) return DASH;
  const size = Math.abs(value);
  const [least, unit] = units.find(([from]) => size >= from) || units[units.length - 1];
  return `${number(value / least, digits)} ${unit}`;
}

const TIMES = [
  [3.1536e16, "years"],
  [8.64e13, "days"],
  [3.6e12, "h"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

export function time(ns, digits = 3) {
  return ns === 0 ? "0" : scaled(ns, TIMES, digits);
}

// Simulated time that counts up: seconds with as many places as the steps need.
export function clock(ns) {
  if (!Number.isFinite(ns)) return DASH;
  const s = ns / 1e9;
  if (s >= 3600) {
    const two = (value) => String(Math.floor(value)).padStart(2, "0");
    return `${number(Math.floor(s / 3600))}:${two((s / 60) % 60)}:${two(s % 60)} h`;
  }
  return `${s.toLocaleString("en-US", { minimumFractionDigits: 6, maximumFractionDigits: 6 })} s`;
}

const BYTES = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];

export function bytes(value, digits = 3) {
  return value === 0 ? "0" : scaled(value, BYTES, digits);
}

const COUNTS = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e4, "k"],
];

// A count in a narrow place: 12.3 k.
export function short(value) {
  if (!Number.isFinite(value)) return DASH;
  const size = Math.abs(value);
  const found = COUNTS.find(([from]) => size >= from);
  if (!found) return number(value);
  return `${number(value / (found[1] === "k" ? 1e3 : found[0]))} ${found[1]}`;
}

export function percent(share, digits = 3) {
  return Number.isFinite(share) ? `${number(share * 100, digits)} %` : DASH;
}

// A value with the unit that the engine gives: `us`, `ns`, `bytes`, `share` and others.
export function quantity(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
  if (unit === "ns") return time(value);
  if (unit === "us") return time(value * 1e3);
  if (unit === "ms") return time(value * 1e6);
  if (unit === "s") return time(value * 1e9);
  if (unit === "h" || unit === "hours") return time(value * 3.6e12);
  if (unit === "bytes" || unit === "B") return bytes(value);
  if (unit === "share") return percent(value);
  if (unit === "C" || unit === "°C") return `${number(value)} °C`;
  return unit ? `${short(value)} ${unit}` : short(value);
}
