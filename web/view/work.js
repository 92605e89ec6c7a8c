// Work of dies: its names, its colours.

import { theme } from "../parts/colour.js";

const RULES = [
  [/^idle$|^none$/, () => theme("--empty")],
  [/closed/, () => theme("--closed")],
  [/suspend/, () => "#f0e442"],
  [/erase|erasing/, () => "#d55e00"],
  [/collect|garbage/, () => "#cc79a7"],
  [/level|refresh|patrol|fold|merge/, () => "#e69f00"],
  [/map/, () => "#009e73"],
  [/program|write/, () => "#0072b2"],
  [/read/, () => "#56b4e9"],
  [/wait|held|transfer|bus/, () => theme("--wait")],
];

export function colourOfWork(name) {
  const rule = RULES.find(([pattern]) => pattern.test(name.toLowerCase()));
  return rule ? rule[1]() : "#e69f00";
}
